import { Resource } from '#libs/resources';
import { recordSchema, recordVersion, resourceSchema, textOrNull } from '#libs/rpc';
import { endWithContacts } from '../confirmations/index.js';
import { fields } from '../fields/index.js';
import { lists } from '../lists/index.js';
import { formSchema as askedSchema, thankYouSchema } from '../petitions/index.js';
import { tags } from '../tags/index.js';
import { exists, form, STATUSES } from './form.js';
import { confirmedSignUps, pendingSignUps, signUps } from './sign-up.js';

const ids = { type: 'array', items: { type: 'string' } };

export const formSchema = resourceSchema({
  version: recordVersion,
  name: { type: 'string' },
  title: { type: 'string' },
  text: textOrNull,
  slug: { ...textOrNull, description: 'The path of its page; null: its id.' },
  url: {
    ...textOrNull,
    description: 'The URL of its page; null if the operator has disabled the public site.',
  },
  ...askedSchema.properties,
  listIds: { ...ids, description: 'Deleted lists are ignored.' },
  tagIds: { ...ids, description: 'Deleted tags are ignored.' },
  confirmation: { type: 'string', enum: ['EMAIL', 'NONE'] },
  thankYou: thankYouSchema,
  status: { type: 'string', enum: STATUSES },
  submissions: { type: 'integer', description: 'Exact number of confirmed sign-ups.' },
  pendingSubmissions: {
    type: 'integer',
    description: 'Exact number of sign-ups that await confirmation.',
  },
});

export const formIdSchema = recordSchema({ formId: { type: 'string' } });

export const forms = new Resource({
  object: 'form',
  decider: form,
  existing: (state) => (exists(state) ? state : undefined),
  answers: formSchema,
  version: 2,
  columns: {
    name: { type: 'text', index: true, search: true },
    title: { type: 'text', search: true },
  },
  refers: { fields, listIds: lists, tagIds: tags },
  counts: { link: confirmedSignUps, field: 'submissions', table: 'sign_ups' },
  alsoCounts: { link: pendingSignUps, field: 'pendingSubmissions', table: 'pending_sign_ups' },
  hasSlug: true,
});

endWithContacts(signUps, forms);
