import { PersistentIncident } from './persistent-incident.js';

const look = (steady: PersistentIncident, ...incidents: (string | undefined)[]) =>
  incidents.map((problem) => {
    steady.look(problem);
    return steady.problem;
  });

it('keeps readiness if fewer than three checks in a row fail', () => {
  const steady = new PersistentIncident(() => 0);
  const ready = Array.from({ length: 6 }, () => undefined);
  expect(look(steady, 'slow', 'slow', undefined, 'slow', 'slow', undefined)).toEqual(ready);
});

it('ends readiness at the third failed check, with the reason of the last one', () => {
  const steady = new PersistentIncident(() => 0);
  expect(look(steady, 'slow', 'slow', 'away', 'full')).toEqual([undefined, undefined, 'away', 'full']);
});

it('restores readiness only after several good checks in a row', () => {
  const steady = new PersistentIncident(() => 0);
  look(steady, 'slow', 'slow', 'slow');
  expect(look(steady, undefined, undefined, 'slow', undefined, undefined, undefined)).toEqual([
    ...Array.from({ length: 5 }, () => 'slow'),
    undefined,
  ]);
});

it('restores readiness at different times on instances that lost it together', () => {
  const looksUntilReady = (random: number) => {
    const steady = new PersistentIncident(() => random);
    look(steady, 'slow', 'slow', 'slow');
    return look(steady, ...Array.from({ length: 10 }, () => undefined)).indexOf(undefined) + 1;
  };
  expect([0, 0.4, 0.99].map(looksUntilReady)).toEqual([3, 4, 5]);
});
