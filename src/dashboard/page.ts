import { type Page } from '#libs/pages';
import { type StreamedAnswer } from '#libs/rpc';
import { type Member } from './people.js';
import { type PageContext } from './page-context.js';

/** The page to redirect to after an action. `done` is the key of the confirmation that it shows. */
type Done = { to: string; done?: string };

/** A page of an organization and the action of its form. Both run the API's operations. */
export type PageDefinition = {
  /** Relative to the organization. A part that starts with a colon is an id: `contacts/:contact`. */
  path: string;
  /** The scope required to see the page and links to it; null if every member may. */
  needs: string | null;
  /** If it returns false, the page does not exist. */
  isThere?: (person: Member) => boolean;
  /** The scope required to send the form, if it differs from `needs`. */
  changes?: string;
  show: (context: PageContext) => Page | StreamedAnswer | Promise<Page | StreamedAnswer>;
  /** @returns a redirect, a page if the result is shown only once, or `context.again()`. Errors of operations are shown on the page itself. */
  act?: (context: PageContext) => Promise<Done | Page | { isShownAgain: true }>;
  /** The form uploads a file: `act` reads the request itself with `context.upload()`. */
  takesFile?: boolean;
};
