import { type Json } from '#libs/event-store';
import { AnyJson, Id, Input, Slug, Text, Timestamp } from '#libs/rpc';

const MAX_CONTENT_BYTES = 256 * 1024;

/** The fields shared by create-post and update-post, all optional. */
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
    description:
      "The id of one of the organization's images, as returned by image.upload-image. Determines `image`.",
  })
  imageId?: string | null;

  @AnyJson({
    optional: true,
    maxBytes: MAX_CONTENT_BYTES,
    description:
      'Any JSON, up to 256 KiB as stored. The page renders a string or `{ "markdown": … }` as Markdown, as well as ' +
      'TipTap and ProseMirror documents. Other content is stored but not shown.',
  })
  content?: Json;

  @Slug({
    optional: true,
    nullable: true,
    example: 'we-did-it',
    description:
      'The path of its page, unique in the organization. A previous slug redirects for a year. Default: derived ' +
      'from the name.',
  })
  slug?: string | null;

  @Id({
    optional: true,
    nullable: true,
    description: 'The petition whose page shows the post as an update.',
  })
  petitionId?: string | null;

  @Timestamp({
    optional: true,
    nullable: true,
    description:
      'When it is published automatically. `null` cancels that. A time in the past publishes it immediately.',
  })
  publishAt?: string | null;
}
