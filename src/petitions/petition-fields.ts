import { type Json } from '#libs/event-store';
import { AnyJson, Input, Integer, Text } from '#libs/rpc';

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
    description: 'Any JSON, 256 KiB at most as it is stored.',
  })
  content?: Json;
}
