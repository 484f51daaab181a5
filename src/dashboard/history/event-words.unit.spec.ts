import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allEventTypes } from '#libs/modules';
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
    expect(Object.keys(eventWords[language]).toSorted()).toEqual(allEventTypes().map(({ type }) => type));
  });

  it('event types have distinct texts, so that a filter can offer them', () => {
    const texts = Object.values(eventWords[language]);
    expect(texts.filter((text, n) => texts.indexOf(text) !== n)).toEqual([]);
  });

  it('every kind of record has a text, and nothing else has', () => {
    expect(Object.keys(kindWords[language]).toSorted()).toEqual(
      [...new Set(streams.map(({ streamType }) => streamType))].toSorted(),
    );
  });

  it('every field of stored events has a label', () => {
    const names = golden.flatMap(({ data, personal }) => [
      ...Object.keys(data),
      ...Object.keys(personal ?? {}),
    ]);
    expect(names.length).toBeGreaterThan(1_000);
    const without = [...new Set(names)].filter((name) => !Object.hasOwn(fieldWords[language], name));
    expect(without).toEqual([]);
  });

  it('every read model has words, and nothing else has', () => {
    expect(Object.keys(workingsWords[language].namesOfModels).toSorted()).toEqual(
      projections.map(({ name }) => name).toSorted(),
    );
  });

  it('every reaction has words, and nothing else has', () => {
    // The names are fields that do not depend on constructor arguments.
    const names = subscriptions.map((Reaction) => (Reflect.construct(Reaction, []) as { name: string }).name);
    expect(Object.keys(workingsWords[language].namesOfReactions).toSorted()).toEqual(names.toSorted());
  });
});
