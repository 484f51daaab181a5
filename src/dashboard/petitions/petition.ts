import { type PageContext } from '../page-context.js';

export type PetitionRecord = {
  updatedAt: string;
  id: string;
  createdAt: string;
  name: string;
  title: string;
  goal: number;
  target: string | null;
  description: string | null;
  ask: string | null;
  imageId: string | null;
  image: { url: string; alt: string } | null;
  signatures: number;
  pendingSignatures: number;
  status: 'DRAFT' | 'PUBLISHED' | 'CLOSED';
  content: unknown;
  slug: string | null;
  url: string | null;
  confirmation: 'EMAIL' | 'NONE';
  closesAt: string | null;
  publicComments: boolean;
};

/** The petition in the page's address. @throws RpcError NOT_FOUND */
export function petitionOf(context: PageContext): Promise<PetitionRecord> {
  return context.run<PetitionRecord>('petition.get-petition', { petitionId: context.params.petition });
}

export function toPetition(context: PageContext, { id, title }: PetitionRecord) {
  return { href: context.path(`petitions/${id}`), text: title };
}
