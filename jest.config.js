import { availableParallelism } from 'node:os';
import { compiler } from './scripts/build.mjs';

/**
 * Sources are ESM; Jest runs them as CommonJS, transformed by swc. @nestjs/throttler 6 requires the
 * ESM-only @nestjs/common, which Jest on Node 20 cannot do untransformed: hence the allow-list below.
 */
const esmPackages = [
  '@nestjs',
  'file-type',
  'load-esm',
  'strtok3',
  'token-types',
  '@tokenizer',
  'uint8array-extras',
  'path-to-regexp',
  'uuid',
  'canonicalize',
  // Of sanitize-html and html-to-text.
  'htmlparser2',
  'domhandler',
  'domutils',
  'dom-serializer',
  'domelementtype',
  'entities',
  'html-to-text',
  '@selderee',
  'selderee',
  'parseley',
  'leac',
  'peberminta',
  'deepmerge-ts',
];

export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/{src,libs,migrations,test}/**/*.spec.ts'],
  moduleNameMapper: {
    '^#libs/(.*)$': '<rootDir>/libs/$1/index.ts',
    // Offers itself to `import` alone, and Jest asks as `require`.
    '^canonicalize$': '<rootDir>/node_modules/canonicalize/lib/canonicalize.js',
    '^#migrations$': '<rootDir>/migrations/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  transform: {
    '\\.[tj]s$': ['@swc/jest', { ...compiler, module: { type: 'commonjs' } }],
  },
  // The last folder of packages counts: some have their own below theirs.
  transformIgnorePatterns: [`/node_modules/(?!(${esmPackages.join('|')})/)(?!.*/node_modules/)`],
  testTimeout: 180_000,
  testSequencer: '<rootDir>/scripts/longest-first.mjs',
  // The default, one less than the cores, is one on two cores; the tests wait for their servers as much as they compute.
  maxWorkers: Math.max(3, availableParallelism() - 1),
};
