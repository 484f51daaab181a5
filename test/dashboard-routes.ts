/** The expected status of a route, and the target of its redirect. */
type Answered = string;

/** The responses of a route outside organizations. The record in its path is new for each request. */
export type RouteEntry = {
  /** Without a session. The path names another person's record. */
  signedOut: Answered;
  /** Signed in as a member of one organization. The path names their own record. */
  signedIn: Answered;
  /** Signed in. The path names another person's record, which stays unchanged. */
  another?: Answered;
  form?: Record<string, string>;
  /** The events that the history records, with and without a session. */
  events?: readonly string[];
};

const SIGN_IN_FIRST = '303 /dashboard/sign-in';

/** For scripts, which need no session, and links, which work for anyone who has them. */
const sameForAll = (answered: Answered, more: Partial<RouteEntry> = {}): RouteEntry => ({
  signedOut: answered,
  signedIn: answered,
  ...more,
});

/** Every route of the dashboard outside an organization's pages (see `dashboard-pages.ts`). `:own` is the person's organization. */
export const ROUTES: Record<string, RouteEntry> = {
  'GET /dashboard/scripts/:name': sameForAll('200'),
  'GET /dashboard': { signedOut: SIGN_IN_FIRST, signedIn: '303 /dashboard/:own' },
  'GET /dashboard{/}': { signedOut: SIGN_IN_FIRST, signedIn: '303 /dashboard/:own' },
  'GET /dashboard/sign-in': sameForAll('200'),
  'POST /dashboard/sign-in': sameForAll('200', { form: { email: 'nobody@example.org' } }),
  'GET /dashboard/sign-in/:token': sameForAll('200'),
  'POST /dashboard/sign-in/:token': sameForAll('303 /dashboard'),
  'GET /dashboard/invitations/:token': sameForAll('200'),
  'POST /dashboard/invitations/:token': sameForAll('303 /dashboard/:own', { events: ['InvitationAccepted'] }),
  'GET /dashboard/notifications/:notification/:token': sameForAll('200'),
  'POST /dashboard/notifications/:notification/:token': sameForAll('200', {
    events: ['NotificationSettingsChanged'],
  }),
  'POST /dashboard/passkey': sameForAll('403', { form: { response: '{}' } }),
  'POST /dashboard/sign-out': sameForAll('303 /dashboard/sign-in?out'),
  'GET /dashboard/account': { signedOut: SIGN_IN_FIRST, signedIn: '200' },
  // Ending another person's session looks successful and reveals nothing.
  'POST /dashboard/account/sessions/:session/end': {
    signedOut: '403',
    signedIn: '303 /dashboard/account?ended',
    another: '303 /dashboard/account?ended',
  },
  'POST /dashboard/account/passkeys': { signedOut: '403', signedIn: '422', form: { response: '{}' } },
  'GET /dashboard/account/passkeys/:passkey': { signedOut: SIGN_IN_FIRST, signedIn: '200', another: '404' },
  'POST /dashboard/account/passkeys/:passkey': {
    signedOut: '403',
    signedIn: '303 /dashboard/account?removed',
    another: '303 /dashboard/account?removed',
  },
};
