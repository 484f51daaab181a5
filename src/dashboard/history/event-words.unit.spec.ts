import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, withoutSalt } from '#libs/event-store';
import { allEventTypes } from '#libs/modules';
import { expectEntries } from '#libs/testing';
import { projections, streams, subscriptions } from '../../modules.js';
import { DASHBOARD } from '#locales';

const LANGUAGES = ['en', 'de'] as const;
type Stored = { data: object; personal: object | null };

const golden = readFileSync(join(__dirname, '../../../test/golden/history.ndjson'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Stored);

describe.each(LANGUAGES)('in %s', (language) => {
  it('every event type has a text, and there are no others', () => {
    expectEntries(
      `locales/${language}/dashboard/events.ts`,
      Object.keys(DASHBOARD[language].events),
      allEventTypes().map(({ type }) => type),
    );
  });

  it('event types have distinct texts, so that a filter can offer them', () => {
    const texts = Object.values(DASHBOARD[language].events);
    expect(texts.filter((text, n) => texts.indexOf(text) !== n)).toEqual([]);
  });

  it('every kind of record has a text, and there are no others', () => {
    expectEntries(`locales/${language}/dashboard/kinds.ts`, Object.keys(DASHBOARD[language].kinds), [
      ...new Set(streams.map(({ streamType }) => streamType)),
    ]);
  });

  it('every field of stored events has a label', () => {
    const names = golden.flatMap(({ data, personal }) => [
      ...Object.keys(data),
      ...Object.keys(withoutSalt((personal ?? null) as JsonObject | null) ?? {}),
    ]);
    expect(names.length).toBeGreaterThan(1_000);
    const labels = Object.keys(DASHBOARD[language].fields);
    expectEntries(
      `locales/${language}/dashboard/fields.ts`,
      labels.filter((name) => names.includes(name)),
      [...new Set(names)],
    );
  });

  it('every projection has a text, and there are no others', () => {
    expectEntries(
      `\`namesOfModels\` in locales/${language}/dashboard/system-status.ts`,
      Object.keys(DASHBOARD[language].systemStatus.namesOfModels),
      projections.map(({ name }) => name),
    );
  });

  it('every background task has a text, and there are no others', () => {
    // The names are fields that do not depend on constructor arguments.
    const names = subscriptions.map((Reaction) => (Reflect.construct(Reaction, []) as { name: string }).name);
    expectEntries(
      `\`namesOfReactions\` in locales/${language}/dashboard/system-status.ts`,
      Object.keys(DASHBOARD[language].systemStatus.namesOfReactions),
      names,
    );
  });
});
