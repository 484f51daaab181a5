import { DASHBOARD } from '#locales';
import { EditorOf } from './editor.js';
import { styleFor } from './style.js';

it('every custom property in use is defined: otherwise, browsers ignore the declaration', () => {
  const { text } = styleFor(null);
  const used = [...text.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name!);
  const undefinedOnes = used.filter((name) => !text.includes(`${name}:`));
  expect([used.length > 100, undefinedOnes]).toEqual([true, []]);
});

it('gives every tool of the editor an icon', () => {
  for (const isMail of [true, false])
    expect(String(EditorOf(DASHBOARD.en, isMail))).not.toMatch(/<button[^>]*><\/button>/);
});
