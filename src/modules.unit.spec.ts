import { type Type } from '@nestjs/common';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { partsOf } from '#libs/modules';
import { ERROR_CODES, reasonsOf } from '#libs/rpc';
import { MODULES } from './modules.js';

/** Each module's folder has a file that declares it. The application's own module imports them all. */
const declared = readdirSync(__dirname, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.module.ts') && path !== 'server/app.module.ts')
  .flatMap((path) => Object.values(jest.requireActual<object>(join(__dirname, path))));

it('each existing module is in the list, once, or has only providers for modules in the list', () => {
  expect(declared.length).toBeGreaterThan(6);
  expect(declared).toEqual(expect.arrayContaining(MODULES));
  expect(new Set(MODULES).size).toBe(MODULES.length);
  const others = declared.filter((module) => !(MODULES as unknown[]).includes(module)) as Type[];
  const imported = MODULES.flatMap((module) => Reflect.getMetadata('imports', module) as unknown[]);
  for (const module of others) {
    expect(() => partsOf([module])).toThrow('is not a module of the product');
    expect(imported).toContain(module);
  }
});

it('an object that is not a module of the product is rejected', () => {
  expect(() => partsOf([class Stranger {}])).toThrow('Stranger is not a module of the product');
});

it('reasons for errors are upper-case words, and each belongs to one code of one module', () => {
  const all = ERROR_CODES.flatMap(reasonsOf);
  expect(all).toContain('EMAIL_TAKEN');
  expect(all.filter((reason) => !/^[A-Z]+(_[A-Z]+)*$/.test(reason))).toEqual([]);
  expect(new Set([...all, ...ERROR_CODES]).size).toBe(all.length + ERROR_CODES.length);
});

it('no two modules have the same operation, stream, event or projection', () => {
  const { operations, streams, projections } = partsOf(MODULES);
  const names = [
    ...operations.map(({ name }) => `class ${name}`),
    ...streams.map(({ streamType }) => `stream ${streamType}`),
    ...streams.flatMap(({ events }) => Object.keys(events)),
    ...projections.map(({ name }) => `read model ${name}`),
  ];
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});
