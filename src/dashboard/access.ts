import { type PageDefinition } from './page.js';
import { type Member } from './people.js';

/** Show the page, or perform its form's action. */
export type PageAction = 'show' | 'act';

/** `nothing to do`: the page has no form. */
export type Access = 'allowed' | 'not found' | 'forbidden' | 'nothing to do';

/** Whether a member may open a page or send its form. This is the only check of permissions. */
export function accessTo(
  page: Pick<PageDefinition, 'needs' | 'changes' | 'isThere' | 'act'>,
  action: PageAction,
  member: Member,
): Access {
  if (page.isThere?.(member) === false) return 'not found';
  const needs = action === 'act' ? (page.changes ?? page.needs) : page.needs;
  if (needs !== null && !member.may(needs)) return 'forbidden';
  return action === 'act' && !page.act ? 'nothing to do' : 'allowed';
}
