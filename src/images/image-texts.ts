import { Text } from '#libs/rpc';

/** What is said of an image. */
export class ImageTextsInput {
  @Text({ max: 200, optional: true })
  name?: string;

  @Text({ max: 1_000, optional: true, nullable: true, description: 'What it shows, for who cannot see it.' })
  alt?: string | null;
}
