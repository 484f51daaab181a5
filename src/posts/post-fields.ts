import { type Json } from '#libs/event-store';
import { AnyJson, Input, Slug, Text } from '#libs/rpc';

const LARGEST_CONTENT = 256 * 1024;

/** The fields that create-post and update-post have in common, all optional. */
export abstract class PostFieldsInput extends Input {
  @Text({ max: 200, optional: true, example: 'We did it' })
  name?: string;

  @Text({ max: 200, optional: true, description: 'Default: the name.' })
  title?: string;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;

  @Text({
    max: 500,
    optional: true,
    nullable: true,
    namesRecord: true,
    description: 'An image of the organization, as image.upload-image answers it. It fills `image`.',
  })
  imageId?: string | null;

  @AnyJson({
    optional: true,
    maxBytes: LARGEST_CONTENT,
    description:
      'Any JSON, 256 KiB at most as it is stored. Its page shows a string or `{ "markdown": … }` as Markdown, and documents of TipTap and ' +
      'ProseMirror; anything else stays data.',
  })
  content?: Json;

  @Slug({
    optional: true,
    nullable: true,
    example: 'we-did-it',
    description:
      'What its page is found by, unique in the organization; a former one leads to it for a year. Default: made of the name.',
  })
  slug?: string | null;
}
