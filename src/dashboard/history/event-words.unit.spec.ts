import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allEventTypes } from '#libs/modules';
import { expectEntries } from '#libs/testing';
import { projections, streams, subscriptions } from '../../modules.js';
import { workingsWords } from '../workings/words.js';
import { eventWords } from './event-words.js';
import { fieldWords } from './field-words.js';
import { kindWords } from './kind-words.js';

const LANGUAGES = ['en', 'de'] as const;
type Stored = { data: object; personal: object | null };

const golden = readFileSync(join(__dirname, '../../../test/golden/history.ndjson'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Stored);

describe.each(LANGUAGES)('in %s', (language) => {
  it('every event type has a text, and nothing else has', () => {
    expectEntries(
      `\`${language}\` in src/dashboard/history/event-words.ts`,
      Object.keys(eventWords[language]),
      allEventTypes().map(({ type }) => type),
    );
  });

  it('event types have distinct texts, so that a filter can offer them', () => {
    const texts = Object.values(eventWords[language]);
    expect(texts.filter((text, n) => texts.indexOf(text) !== n)).toEqual([]);
  });

  it('every kind of record has a text, and nothing else has', () => {
    expectEntries(
      `\`${language}\` in src/dashboard/history/kind-words.ts`,
      Object.keys(kindWords[language]),
      [...new Set(streams.map(({ streamType }) => streamType))],
    );
  });

  it('every field of stored events has a label', () => {
    const names = golden.flatMap(({ data, personal }) => [
      ...Object.keys(data),
      ...Object.keys(personal ?? {}),
    ]);
    expect(names.length).toBeGreaterThan(1_000);
    const labels = Object.keys(fieldWords[language]);
    expectEntries(
      `\`${language}\` in src/dashboard/history/field-words.ts`,
      labels.filter((name) => names.includes(name)),
      [...new Set(names)],
    );
  });

  it('every read model has words, and nothing else has', () => {
    expectEntries(
      `\`namesOfModels\` of \`${language}\` in src/dashboard/workings/words.ts`,
      Object.keys(workingsWords[language].namesOfModels),
      projections.map(({ name }) => name),
    );
  });

  it('every reaction has words, and nothing else has', () => {
    // The names are fields that do not depend on constructor arguments.
    const names = subscriptions.map((Reaction) => (Reflect.construct(Reaction, []) as { name: string }).name);
    expectEntries(
      `\`namesOfReactions\` of \`${language}\` in src/dashboard/workings/words.ts`,
      Object.keys(workingsWords[language].namesOfReactions),
      names,
    );
  });
});
