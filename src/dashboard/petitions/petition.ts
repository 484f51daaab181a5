import { type Comments, type NamedForm, type Outcome } from '../../petitions/index.js';
import { recordPages } from '../record-pages.js';

/** What a petition has in another language. */
export type TranslationRecord = {
  title: string;
  description?: string;
  target?: string;
  ask?: string;
  content?: unknown;
  outcomeText?: string;
  consent?: string;
  thankYou?: NonNullable<PetitionRecord['thankYou']>;
  thankYouMail?: NonNullable<PetitionRecord['thankYouMail']>;
};

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
  offlineSignatures: number;
  pendingSignatures: number;
  status: 'DRAFT' | 'PUBLISHED' | 'CLOSED';
  content: unknown;
  slug: string | null;
  url: string | null;
  confirmation: 'EMAIL' | 'NONE';
  closesAt: string | null;
  comments: Comments;
  thankYou: Record<'title' | 'text' | 'nextUrl' | 'nextLabel', string | null> | null;
  thankYouMail: { subject: string; content: string } | null;
  form: NamedForm;
  autoGoal: boolean;
  outcome: Outcome | null;
  outcomeText: string | null;
  language: string | null;
  translations: { [language: string]: TranslationRecord };
};

/** The number on the petition's page. */
export function signaturesOf(petition: Pick<PetitionRecord, 'signatures' | 'offlineSignatures'>): number {
  return petition.signatures + petition.offlineSignatures;
}

export const petitions = recordPages<PetitionRecord>({ section: 'petitions', record: 'petition' });
