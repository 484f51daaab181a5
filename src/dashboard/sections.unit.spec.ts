import { allScopes } from '#libs/rpc';
import { expectEntries } from '#libs/testing';
import { DASHBOARD } from '#locales';
import { kindsOfContacts } from '../contacts/index.js';
import { replayables } from '../modules.js';
import { scopesOf } from '../team/index.js';
import { sectionAbout, sectionOf } from './sections.js';

const serviceOf = (scope: string) => scope.split(':')[0]!;
const services = [
  ...new Set(
    allScopes()
      .filter((scope) => scope !== '*')
      .map(serviceOf),
  ),
];

/** Services that editors and viewers do not work with. */
const ADMINISTRATION = ['api-key', 'history', 'organization', 'team', 'webhook'];

it('editors work with every service except those of administration', () => {
  const editors = [...new Set(scopesOf('EDITOR').map(serviceOf))];
  expectEntries(
    'CAMPAIGNING in src/team/roles.ts',
    editors.filter((service) => !ADMINISTRATION.includes(service)),
    services.filter((service) => !ADMINISTRATION.includes(service)),
  );
});

it('every service has a section, whose title names it in the permissions of an API key', () => {
  expectEntries('`needs` in src/dashboard/sections.ts', services.filter(sectionAbout), services);
});

it('every kind of record that contacts belong to has a section with its pages', () => {
  const kinds = kindsOfContacts().map(({ object }) => object);
  expect(replayables.length).toBeGreaterThan(kinds.length);
  expectEntries('`shows` in src/dashboard/sections.ts', kinds.filter(sectionOf), kinds);
});

it('every kind of record that contacts belong to can be chosen as the audience of a broadcast', () => {
  const kinds = kindsOfContacts().map(({ object }) => object);
  const { sendTo, exclude } = DASHBOARD.en.broadcasts.fields;
  for (const [place, texts] of Object.entries({ sendTo, exclude }))
    expectEntries(
      `${place} in locales/*/dashboard/broadcasts.ts`,
      Object.keys(texts).filter((kind) => kinds.includes(kind)),
      kinds,
    );
});
