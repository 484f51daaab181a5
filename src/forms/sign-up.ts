import { type Counted, type Facts } from '#libs/links';
import { type PersonDetails, RequestKind, type Suspicion } from '../confirmations/index.js';

type SignUp = {
  formId: string;
  /** What led the person to the form. */
  source: string | null;
  suspicion: Suspicion[];
  /** Whether the person subscribes to the organization's emails. */
  subscribe: boolean;
};

type SignUpRequestedEvent = { type: 'SignUpRequested'; data: SignUp; personal: PersonDetails };

/** Sign-ups that await confirmation. */
export const signUps = new RequestKind<SignUpRequestedEvent['data'], SignUpRequestedEvent['personal']>({
  streamType: 'sign-up-request',
  requested: 'SignUpRequested',
  confirmed: 'SignUpConfirmed',
  expired: 'SignUpExpired',
  recordField: 'formId',
  resultField: 'contactId',
  person: 'person',
  exported: 'pendingSignUps',
  purpose: 'confirm sign-up',
  timer: 'sign-up-expiry',
  key: (formId, mailbox) => ['form.sign-up.request', formId, mailbox],
  recordDeleted: 'FORM_DELETED',
});

const FACTS: Facts = {
  source: { type: 'text', of: ({ data }) => (data.source as string | null | undefined) ?? null },
};

export const pendingSignUps = signUps.links(FACTS);

/** Sign-ups that took effect. They are counted without the person, so they also count after an erasure. */
export const confirmedSignUps: Counted = {
  handles: [signUps.names.confirmed],
  atErasure: 'loses its name',
  isSuspendable: false,
  changes(event) {
    if (event.type !== signUps.names.confirmed) return [];
    const { streamId: subjectId, data } = event;
    return [{ kind: 'begins', event, recordId: data.formId as string, subjectId, detail: null }];
  },
};
