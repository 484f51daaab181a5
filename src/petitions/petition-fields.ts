import { type Json } from '#libs/event-store';
import { AnyJson, Flag, Input, Integer, OneOf, Slug, Text, Timestamp } from '#libs/rpc';
import { type Confirmation } from './petition.js';

export const DEFAULT_GOAL = 100;
const LARGEST_CONTENT = 256 * 1024;

/** The fields that create-petition and update-petition have in common, all optional. */
export abstract class PetitionFieldsInput extends Input {
  @Text({ max: 200, optional: true, example: 'Save the river' })
  name?: string;

  @Text({ max: 200, optional: true, description: 'Default: the name.' })
  title?: string;

  @Integer({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    optional: true,
    documentedDefault: DEFAULT_GOAL,
    description: 'Signatures aimed at.',
  })
  goal?: number;

  @Text({ max: 500, optional: true, nullable: true, description: 'Who is to act.' })
  target?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true, description: 'What they are asked to do.' })
  ask?: string | null;

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
    example: 'save-the-river',
    description:
      'What its page is found by, unique in the organization; a former one leads to it for a year. Default: made of the name.',
  })
  slug?: string | null;

  @OneOf(['EMAIL', 'NONE'], {
    optional: true,
    documentedDefault: 'EMAIL',
    description: 'Whether who signs on its page has to confirm it by mail before it counts.',
  })
  confirmation?: Confirmation;

  @Timestamp({ optional: true, nullable: true, description: 'When it closes by itself.' })
  closesAt?: string | null;

  @Flag({
    optional: true,
    documentedDefault: false,
    description: 'Whether its page shows the newest comments of those who have allowed it.',
  })
  publicComments?: boolean;
}

/** A moment as it is stored: one moment is written in many ways. */
export function momentOf(text: string | null | undefined): string | null | undefined {
  return text == null ? text : new Date(text).toISOString();
}
