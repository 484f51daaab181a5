import { isDeepStrictEqual } from 'node:util';
import { changedFields } from '#libs/commands';
import { type Decider, type Json } from '#libs/event-store';
import { type Slugged, withSlug } from '#libs/resources';
import { invalid, noSuch, RpcError } from '#libs/rpc';
import { type PetitionForm } from './petition-form.js';

/** Which of the comments that signers made public its page shows. */
export const COMMENTS = ['OFF', 'SHOWN', 'APPROVED'] as const;
export type Comments = (typeof COMMENTS)[number];

/** Whether signatures from the public site must be confirmed by email. */
export type Confirmation = 'EMAIL' | 'NONE';

export const OUTCOMES = ['WON', 'LOST'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export type PetitionFields = {
  name: string;
  title: string;
  goal: number;
  target: string | null;
  description: string | null;
  ask: string | null;
  imageId: string | null;
  content: Json;
  /** The path of its page; null: its id. */
  slug: string | null;
  confirmation: Confirmation;
  /** When it closes automatically: RFC 3339, UTC. */
  closesAt: string | null;
  comments: Comments;
  form: PetitionForm;
  /** What its page shows after signing; null: the site's own texts. */
  thankYou: ThankYou | null;
  /** Sent once a signature is confirmed. */
  thankYouMail: ThankYouMail | null;
  /** Whether the goal is raised when it is nearly reached. */
  autoGoal: boolean;
  /** Only of a closed petition. */
  outcome: Outcome | null;
  outcomeText: string | null;
  /** Its language; null: the organization's. */
  language: string | null;
  /** Its texts in other languages. */
  translations: { [language: string]: Translation };
};

export type ThankYou = {
  title: string | null;
  text: string | null;
  nextUrl: string | null;
  nextLabel: string | null;
};
export type ThankYouMail = { subject: string; content: string };

/** Texts that are left out are shown in the petition's own language. */
export type Translation = Partial<
  Pick<PetitionFields, 'title' | 'target' | 'description' | 'ask' | 'content' | 'outcomeText'> & {
    consent: string;
    thankYou: ThankYou;
    thankYouMail: ThankYouMail;
  }
>;

/** `translations`: only those that changed; null: deleted. */
export type PetitionChanges = Partial<Omit<PetitionFields, 'translations'>> & {
  translations?: { [language: string]: Translation | null };
};

export type PetitionEvent =
  | { type: 'PetitionCreated'; data: PetitionFields }
  | { type: 'PetitionUpdated'; data: PetitionChanges }
  | { type: 'PetitionPublished'; data: Record<string, never> }
  | { type: 'PetitionClosed'; data: Record<string, never> }
  | { type: 'PetitionDeleted'; data: Record<string, never> };

export const STATUSES = ['DRAFT', 'PUBLISHED', 'CLOSED'] as const;
type PetitionStatus = (typeof STATUSES)[number];
export type ExistingPetition = PetitionFields & Slugged & { status: PetitionStatus };
export type Petition = ExistingPetition | { status: 'UNKNOWN' } | { status: 'DELETED' };

export const petition: Decider<Petition, PetitionEvent> = {
  streamType: 'petition',
  initial: { status: 'UNKNOWN' },
  events: {
    PetitionCreated: true,
    PetitionUpdated: true,
    PetitionPublished: true,
    PetitionClosed: true,
    PetitionDeleted: true,
  },
  evolve(state, event, at) {
    if (event.type === 'PetitionCreated') return { ...event.data, formerSlugs: [], status: 'DRAFT' };
    if (state.status === 'UNKNOWN' || state.status === 'DELETED') return state;
    switch (event.type) {
      case 'PetitionUpdated':
        return {
          ...state,
          ...event.data,
          ...withSlug(state, event.data.slug, at),
          translations: mergedTranslations(state.translations, event.data.translations),
        };
      case 'PetitionPublished':
        return { ...state, status: 'PUBLISHED', outcome: null, outcomeText: null };
      case 'PetitionClosed':
        return { ...state, status: 'CLOSED' };
      case 'PetitionDeleted':
        return { status: 'DELETED' };
    }
  },
};

export function mergedTranslations(
  before: PetitionFields['translations'],
  changed: PetitionChanges['translations'] = {},
): PetitionFields['translations'] {
  const after = Object.entries({ ...before, ...changed });
  return Object.fromEntries(after.flatMap(([language, texts]) => (texts ? [[language, texts]] : [])));
}

export function exists(state: Petition): state is ExistingPetition {
  return state.status !== 'UNKNOWN' && state.status !== 'DELETED';
}

/** @throws RpcError NOT_FOUND if the petition does not exist. */
export function existingPetition(state: Petition): ExistingPetition {
  if (!exists(state)) throw noSuch('petition');
  return state;
}

/** Fields that are not given stay unchanged. */
export function updatePetition(
  state: Petition,
  { translations = {}, ...given }: PetitionChanges,
): PetitionEvent[] {
  const existing = existingPetition(state);
  const translated = Object.entries(translations).filter(
    ([language, texts]) => !isDeepStrictEqual(existing.translations[language] ?? null, texts),
  );
  const data: PetitionChanges = {
    ...changedFields<PetitionFields>(existing, given),
    ...(translated.length > 0 ? { translations: Object.fromEntries(translated) } : {}),
  };
  return Object.keys(data).length > 0 ? [{ type: 'PetitionUpdated', data }] : [];
}

type OutcomeFields = Pick<PetitionFields, 'outcome' | 'outcomeText'>;

/**
 * The outcome after a change; its text is deleted with it.
 *
 * @throws RpcError BAD_REQUEST for a text without an outcome, CONFLICT unless the petition is closed.
 */
export function outcomeAfter(
  existing: ExistingPetition,
  {
    outcome = existing.outcome,
    outcomeText,
  }: { [Field in keyof OutcomeFields]?: OutcomeFields[Field] | undefined },
): OutcomeFields {
  if (outcome === null && outcomeText)
    throw invalid([{ path: 'outcome', message: 'must be WON or LOST if there is an outcomeText' }]);
  const text = outcome === null ? null : outcomeText === undefined ? existing.outcomeText : outcomeText;
  const isChanged = outcome !== existing.outcome || text !== existing.outcomeText;
  if (isChanged && existing.status !== 'CLOSED') {
    throw new RpcError('CONFLICT', 'Only a closed petition has an outcome. Close it first.', {
      reason: 'PETITION_NOT_CLOSED',
    });
  }
  return { outcome, outcomeText: text };
}

/** The first event of a copy. Its outcome and its closing time are not those of the original. */
export function duplicatePetition(state: Petition, name: string, slug: string | null): PetitionEvent {
  const { status: _, formerSlugs: _former, ...fields } = existingPetition(state);
  const own = { name, slug, closesAt: null, outcome: null, outcomeText: null };
  return { type: 'PetitionCreated', data: { ...fields, ...own } };
}

/** Whether its closing time has passed. From then on, it cannot be signed, even before it is marked as closed. */
function isOver({ closesAt }: Pick<PetitionFields, 'closesAt'>, now: Date): boolean {
  return closesAt !== null && Date.parse(closesAt) <= now.getTime();
}

/** Publishes a draft, or reopens a closed petition, which deletes its outcome. Publishing a published petition changes nothing. */
export function publishPetition(state: Petition, now: Date): PetitionEvent[] {
  const existing = existingPetition(state);
  switch (existing.status) {
    case 'DRAFT':
    case 'CLOSED':
      if (isOver(existing, now)) {
        throw new RpcError(
          'CONFLICT',
          `This petition was scheduled to close at ${existing.closesAt}. Set closesAt to a later time or null, then ` +
            'publish it.',
          { reason: 'PETITION_CLOSED' },
        );
      }
      return [{ type: 'PetitionPublished', data: {} }];
    case 'PUBLISHED':
      return [];
  }
}

export function closePetition(state: Petition): PetitionEvent[] {
  switch (existingPetition(state).status) {
    case 'DRAFT':
      throw new RpcError(
        'CONFLICT',
        'This petition is a draft. Only a published petition can be closed. Publish or delete the draft.',
        { reason: 'PETITION_NOT_PUBLISHED' },
      );
    case 'PUBLISHED':
      return [{ type: 'PetitionClosed', data: {} }];
    case 'CLOSED':
      return [];
  }
}

/** Closes the petition at its closing time, unless that was moved. */
export function closeAtItsEnd(state: Petition, now: Date): PetitionEvent[] {
  const isMeant = exists(state) && state.status === 'PUBLISHED' && isOver(state, now);
  return isMeant ? [{ type: 'PetitionClosed', data: {} }] : [];
}

/** A published petition cannot be deleted. Deleting a deleted petition changes nothing. */
export function deletePetition(state: Petition): PetitionEvent[] {
  if (state.status === 'DELETED') return [];
  if (existingPetition(state).status === 'PUBLISHED') {
    throw new RpcError('CONFLICT', 'This petition is published. Close it before you delete it.', {
      reason: 'PETITION_PUBLISHED',
    });
  }
  return [{ type: 'PetitionDeleted', data: {} }];
}

const NOT_PUBLISHED = 'This petition is a draft and cannot be signed yet. Publish it first.';

/** Signatures on paper, or from another system, may arrive after the end. @throws RpcError CONFLICT for a draft. */
export function requirePublishedOnce(state: Petition): void {
  if (existingPetition(state).status === 'DRAFT')
    throw new RpcError('CONFLICT', NOT_PUBLISHED, { reason: 'PETITION_NOT_PUBLISHED' });
}

/** @throws RpcError CONFLICT unless the petition accepts signatures. */
export function requireOpen(state: Petition, now: Date): void {
  const existing = existingPetition(state);
  switch (isOver(existing, now) && existing.status === 'PUBLISHED' ? 'CLOSED' : existing.status) {
    case 'PUBLISHED':
      return;
    case 'DRAFT':
      return requirePublishedOnce(existing);
    case 'CLOSED':
      throw new RpcError(
        'CONFLICT',
        'This petition is closed and no longer accepts signatures. To reopen it, publish it again.',
        { reason: 'PETITION_CLOSED' },
      );
  }
}

/** From this share of its goal on, a petition needs a higher one. */
const NEARLY_REACHED = 0.8;

/** The next goal once the goal is nearly reached: 100, 250, 500, 1,000, 2,500 …; null before, and if there is none. */
export function nextGoal({ goal }: Pick<PetitionFields, 'goal'>, signatures: number): number | null {
  if (signatures < goal * NEARLY_REACHED) return null;
  for (let unit = 100; unit <= Number.MAX_SAFE_INTEGER; unit *= 10)
    for (const step of [unit, 2.5 * unit, 5 * unit])
      if (step > goal && signatures < step * NEARLY_REACHED)
        return step <= Number.MAX_SAFE_INTEGER ? step : null;
  return null;
}

/** Raises the goal of a petition that asks for it. Does nothing if that has happened. */
export function raiseGoal(state: Petition, signatures: number): PetitionEvent[] {
  if (!exists(state) || !state.autoGoal || state.status !== 'PUBLISHED') return [];
  const goal = nextGoal(state, signatures);
  return goal === null ? [] : [{ type: 'PetitionUpdated', data: { goal } }];
}
