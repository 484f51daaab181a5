import { imageSchema, recordSchema, schemaWithout, textOrNull, timestamp } from '#libs/rpc';
import { type Json } from '#libs/event-store';
import { type Petition, type StandingPetition, standingPetition } from './petition.js';

export const petitionSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  title: { type: 'string' },
  goal: { type: 'integer' },
  target: textOrNull,
  description: textOrNull,
  ask: textOrNull,
  imageId: textOrNull,
  signatures: { type: 'integer', description: 'The exact number of standing signatures.' },
  organizationId: { type: 'string' },
  status: { type: 'string', enum: ['DRAFT', 'PUBLISHED', 'CLOSED'] },
  image: imageSchema,
  content: { description: 'Any JSON.' },
});

/** Of an element of a list. */
export const listedPetitionSchema = schemaWithout(petitionSchema, 'content');

export const petitionIdSchema = recordSchema({ petitionId: { type: 'string' } });

export type PetitionRecord = Omit<StandingPetition, 'content'> & {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  signatures: number;
  organizationId: string;
  image: null;
  /** Left out in lists that were not asked for it. */
  content?: Json;
};

/** The petition as the API answers it. @throws RpcError NOT_FOUND unless it stands. */
export function petitionRecord(
  organizationId: string,
  id: string,
  { state, createdAt, updatedAt }: { state: Petition; createdAt: Date | null; updatedAt: Date | null },
  signatures: number,
): PetitionRecord {
  const { name, title, goal, target, description, ask, imageId, status, content } = standingPetition(state);
  return {
    id,
    createdAt: createdAt!,
    updatedAt: updatedAt!,
    name,
    title,
    goal,
    target,
    description,
    ask,
    imageId,
    signatures,
    organizationId,
    status,
    image: null,
    content,
  };
}
