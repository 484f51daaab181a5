import { recordSchema, textOrNull, timestamp } from '#libs/rpc';
import { type List, standingList } from './list.js';

export const listSchema = recordSchema({
  id: { type: 'string' },
  createdAt: timestamp,
  updatedAt: timestamp,
  name: { type: 'string' },
  description: textOrNull,
  organizationId: { type: 'string' },
  contacts: { type: 'integer', description: 'The exact number of contacts on the list.' },
});

export const listIdSchema = recordSchema({ listId: { type: 'string' } });

export type ListRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  name: string;
  description: string | null;
  organizationId: string;
  contacts: number;
};

/** The list as the API answers it. @throws RpcError NOT_FOUND unless it stands. */
export function listRecord(
  organizationId: string,
  id: string,
  { state, createdAt, updatedAt }: { state: List; createdAt: Date | null; updatedAt: Date | null },
  contacts: number,
): ListRecord {
  const { name, description } = standingList(state);
  return { id, createdAt: createdAt!, updatedAt: updatedAt!, name, description, organizationId, contacts };
}
