import { hasScope } from '#libs/rpc';
import { expectEntries } from '#libs/testing';
import { TABLE } from '../../test/dashboard-pages.js';
import { type Role, ROLES, scopesOf } from '../team/index.js';
import { type Access, accessTo, type PageAction } from './access.js';
import { PAGES } from './pages.js';
import { type Member } from './people.js';

function memberWith(role: Role, hasOutbox = true): Member {
  const scopes = scopesOf(role);
  return {
    session: {} as Member['session'],
    organization: { id: 'organization', name: 'Rivers', colour: null, role, memberId: 'member' },
    may: (scope) => hasScope(scopes, scope),
    hasOutbox,
  };
}

const accessOfEach = (page: (typeof PAGES)[number], action: PageAction) =>
  ROLES.map((role): [Role, Access] => [role, accessTo(page, action, memberWith(role))]);

it('every page has a row in the table, and every row a page', () => {
  expectEntries(
    'TABLE in test/dashboard-pages.ts',
    Object.keys(TABLE),
    PAGES.map(({ path }) => path),
  );
});

describe.each(PAGES.map((page) => [page.path === '' ? '(home)' : page.path, page] as const))(
  '%s',
  (_, page) => {
    const { see = [], act, isHere = false } = TABLE[page.path] ?? {};

    it('is shown to the roles in the table and forbidden to all others', () => {
      expect(TABLE).toHaveProperty([page.path]);
      expect(accessOfEach(page, 'show')).toEqual(
        ROLES.map((role) => [role, see.includes(role) ? 'allowed' : 'forbidden']),
      );
    });

    it(page.act ? 'acts only for the roles in the table' : 'has no form, for any role', () => {
      expect(page.act === undefined).toBe(act === undefined);
      const may = act ?? see;
      expect(accessOfEach(page, 'act')).toEqual(
        ROLES.map((role) => [role, !may.includes(role) ? 'forbidden' : act ? 'allowed' : 'nothing to do']),
      );
    });

    it(isHere ? 'is not found from another machine' : 'is found from any machine', () => {
      const found = ROLES.map((role) => accessTo(page, 'show', memberWith(role, false)) !== 'not found');
      expect(new Set(found)).toEqual(new Set([!isHere]));
    });
  },
);
