import { Text } from '#libs/rpc';

export class ImageTextsInput {
  @Text({ max: 200, optional: true })
  name?: string;

  @Text({
    max: 1_000,
    optional: true,
    nullable: true,
    description: 'Alternative text: describes the image for people who cannot see it.',
  })
  alt?: string | null;
}
