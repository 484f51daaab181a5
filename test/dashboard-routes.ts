/** What a route answers: a status, and after it where it leads. */
type Answered = string;

/** Whom a route outside organizations answers what; what its address names is made anew each time. */
export type RouteEntry = {
  /** Who has no session. What the address names is somebody else's. */
  nobody: Answered;
  /** Who is signed in, and a member of one organization. What the address names is their own. */
  somebody: Answered;
  /** Where what the address names is another person's: it stays as it is. */
  another?: Answered;
  form?: Record<string, string>;
  /** What the history has of it, for nobody and for somebody. */
  events?: readonly string[];
};

const SIGN_IN_FIRST = '303 /dashboard/sign-in';

/** A script knows nobody, and a link is good for whoever has it. */
const sameForAll = (answered: Answered, more: Partial<RouteEntry> = {}): RouteEntry => ({
  nobody: answered,
  somebody: answered,
  ...more,
});

/** Every route of the dashboard but those of an organization's pages, whose table is `dashboard-pages.ts`. `:own` is their organization. */
export const ROUTES: Record<string, RouteEntry> = {
  'GET /dashboard/scripts/:name': sameForAll('200'),
  'GET /dashboard': { nobody: SIGN_IN_FIRST, somebody: '303 /dashboard/:own' },
  'GET /dashboard{/}': { nobody: SIGN_IN_FIRST, somebody: '303 /dashboard/:own' },
  'GET /dashboard/sign-in': sameForAll('200'),
  'POST /dashboard/sign-in': sameForAll('200', { form: { email: 'nobody@example.org' } }),
  'GET /dashboard/sign-in/:token': sameForAll('200'),
  'POST /dashboard/sign-in/:token': sameForAll('303 /dashboard'),
  'GET /dashboard/invitations/:token': sameForAll('200'),
  'POST /dashboard/invitations/:token': sameForAll('303 /dashboard/:own', { events: ['InvitationAccepted'] }),
  'POST /dashboard/passkey': sameForAll('403', { form: { response: '{}' } }),
  'POST /dashboard/sign-out': sameForAll('303 /dashboard/sign-in?out'),
  'GET /dashboard/account': { nobody: SIGN_IN_FIRST, somebody: '200' },
  // Whoever says that they end what is another's learns nothing.
  'POST /dashboard/account/sessions/:session/end': {
    nobody: '403',
    somebody: '303 /dashboard/account?ended',
    another: '303 /dashboard/account?ended',
  },
  'POST /dashboard/account/passkeys': { nobody: '403', somebody: '422', form: { response: '{}' } },
  'GET /dashboard/account/passkeys/:passkey': { nobody: SIGN_IN_FIRST, somebody: '200', another: '404' },
  'POST /dashboard/account/passkeys/:passkey': {
    nobody: '403',
    somebody: '303 /dashboard/account?removed',
    another: '303 /dashboard/account?removed',
  },
};
