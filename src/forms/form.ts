import { createHash } from 'node:crypto';
import { changedFields } from '#libs/commands';
import { type Decider, streamIdOf } from '#libs/event-store';
import { type Slugged, withSlug } from '#libs/resources';
import { noSuch } from '#libs/rpc';
import { type PetitionForm, type ThankYou } from '../petitions/index.js';

/** `fields` and `consent`: like those of a petition's form. No form asks for a comment. */
export type FormFields = PetitionForm & {
  name: string;
  /** null: the site's own title, in the organization's language. Only the built-in form has none. */
  title: string | null;
  text: string | null;
  /** The path of its page; null: its id. */
  slug: string | null;
  /** What subscribers are added to. Deleted lists and tags are ignored. */
  listIds: string[];
  tagIds: string[];
  /** Whether people subscribe only once they confirm by email. */
  confirmation: 'EMAIL' | 'NONE';
  /** The content of the page after signing up; null: the site's own texts. */
  thankYou: ThankYou | null;
  /** A paused form keeps its page, but accepts nothing. */
  status: (typeof STATUSES)[number];
};

export const STATUSES = ['PUBLISHED', 'PAUSED'] as const;

export type FormEvent =
  | { type: 'FormCreated'; data: FormFields }
  | { type: 'FormUpdated'; data: Partial<FormFields> }
  | { type: 'FormDeleted'; data: Record<string, never> };

export type ExistingForm = FormFields & Slugged;
export type Form = ExistingForm | { status: 'UNKNOWN' } | { status: 'DELETED' };

export const DEFAULT_FORM: FormFields = {
  name: 'Get updates',
  title: null,
  text: null,
  slug: null,
  fields: [
    { field: 'firstName', required: false },
    { field: 'lastName', required: false },
  ],
  consent: { text: null, required: true },
  listIds: [],
  tagIds: [],
  confirmation: 'EMAIL',
  thankYou: null,
  status: 'PUBLISHED',
};

export const form: Decider<Form, FormEvent> = {
  streamType: 'form',
  initial: { status: 'UNKNOWN' },
  builtIn: {
    idIn: (organizationId) => streamIdOf(createHash('sha256').update(`form ${organizationId}`).digest()),
    begins: { streamType: 'organization', type: 'OrganizationCreated' },
    state: { ...DEFAULT_FORM, formerSlugs: [] },
  },
  events: { FormCreated: true, FormUpdated: true, FormDeleted: true },
  evolve(state, event, at) {
    if (event.type === 'FormCreated') return { ...event.data, formerSlugs: [] };
    if (!exists(state)) return state;
    switch (event.type) {
      case 'FormUpdated':
        return { ...state, ...event.data, ...withSlug(state, event.data.slug, at) };
      case 'FormDeleted':
        return { status: 'DELETED' };
    }
  },
};

export function exists(state: Form): state is ExistingForm {
  return state.status !== 'UNKNOWN' && state.status !== 'DELETED';
}

/** @throws RpcError NOT_FOUND if the form does not exist. */
function existingForm(state: Form): ExistingForm {
  if (!exists(state)) throw noSuch('form');
  return state;
}

/** @throws RpcError NOT_FOUND unless the form exists and accepts sign-ups. */
export function requirePublished(state: Form): ExistingForm {
  const existing = existingForm(state);
  if (existing.status === 'PAUSED') throw noSuch('form');
  return existing;
}

/** Fields that are not given stay unchanged. The title null is the default one. */
export function updateForm(state: Form, given: Partial<FormFields>, isBuiltIn: boolean): FormEvent[] {
  const existing = existingForm(state);
  const title = given.title === null && !isBuiltIn ? (given.name ?? existing.name) : given.title;
  const data = changedFields<FormFields>(existing, { ...given, title });
  return data ? [{ type: 'FormUpdated', data }] : [];
}

/** Deleting a deleted form changes nothing. */
export function deleteForm(state: Form): FormEvent[] {
  if (state.status === 'DELETED') return [];
  existingForm(state);
  return [{ type: 'FormDeleted', data: {} }];
}
