import { type Cast, type Upcasters } from '#libs/event-store';
import { customFieldsOf, type FormField, formWith } from './petition-form.js';
import { type PetitionFields } from './petition.js';

/** What this release reads, but cannot set yet. */
export const NOT_SET_YET = {
  thankYou: null,
  thankYouMail: null,
  autoGoal: false,
  outcome: null,
  outcomeText: null,
  language: null,
  translations: {},
} as const satisfies Partial<PetitionFields>;

type Later = Pick<PetitionFields, 'comments' | 'form'>;

/** The fields that `comments` and `form` replace. The API still has them. */
export type Earlier = { publicComments: boolean; formFields: FormField[] };

function fromEarlier({ publicComments, formFields }: Partial<Earlier>): Partial<Later> {
  return {
    ...(publicComments === undefined ? {} : { comments: publicComments ? 'SHOWN' : 'OFF' }),
    ...(formFields === undefined ? {} : { form: formWith(formFields) }),
  };
}

/** Clients of earlier versions do not support approval, and see such comments as not shown. */
export function asEarlier({ comments, form }: Later): Earlier {
  return { publicComments: comments === 'SHOWN', formFields: customFieldsOf(form) };
}

/** Petitions created before pages existed. */
const toPage: Cast = ({ data, personal }) => ({
  data: { ...data, slug: null, confirmation: 'EMAIL', closesAt: null, publicComments: false },
  personal,
});

const toFormFields: Cast = ({ data, personal }) => ({ data: { ...data, formFields: [] }, personal });

const toForm: Cast = ({ data: { publicComments, formFields, ...data }, personal }) => ({
  data: { ...data, ...fromEarlier({ publicComments, formFields } as Partial<Earlier>) },
  personal,
});

export const petitionShapes: Upcasters = {
  PetitionCreated: {
    reads: [
      toPage,
      toFormFields,
      ({ data, personal }) => toForm({ data: { ...NOT_SET_YET, ...data }, personal }),
    ],
    writes: 'newest',
  },
  PetitionUpdated: { reads: [(body) => body, (body) => body, toForm], writes: 'newest' },
};
