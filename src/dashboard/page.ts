import { type StreamedAnswer } from '#libs/rpc';
import { type Page } from './document.js';
import { type Member } from './people.js';
import { type Visit } from './visit.js';

/** Where to go on after something was done: a page of the organization, which says `done`, a name among the words. */
export type Done = { to: string; done?: string };

/** A page of an organization: what it shows, and what its form does. What it runs are the operations of the API. */
export type PageDefinition = {
  /** Below the organization. A part that begins with a colon is an id: `contacts/:contact`. */
  path: string;
  /** The scope without which a role is refused the page, and sees no way to it; null for everybody in the organization. */
  needs: string | null;
  /** Where it says no there is no such page, for nobody. */
  isThere?: (person: Member) => boolean;
  /** The scope for its form, where that is another. */
  changes?: string;
  show: (visit: Visit) => Promise<Page | StreamedAnswer>;
  /** @returns where to go on; a page, where what was done is shown once; or `visit.again()`. What operations refuse is shown on the page itself. */
  act?: (visit: Visit) => Promise<Done | Page | { isShownAgain: true }>;
  /** Its form brings a file: `act` reads the request itself, by `visit.upload()`. */
  takesFile?: boolean;
};
