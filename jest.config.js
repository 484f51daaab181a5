import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const { dependencies, devDependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url)));
/** Jest loads its own packages itself. */
const packages = Object.keys({ ...dependencies, ...devDependencies }).filter(
  (name) => !name.includes('jest'),
);
const isLong =
  process.env.TEST_LENGTH === 'long' || process.argv.some((argument) => argument.includes('.long'));

export default {
  testEnvironment: '<rootDir>/scripts/jest/environment.mjs',
  testMatch: ['<rootDir>/{src,libs,locales,migrations,test}/**/*.spec.ts'],
  moduleNameMapper: {
    '^#libs/(.*)$': '<rootDir>/libs/$1/index.ts',
    // The package only has an entry for `import`, and Jest resolves like `require`.
    '^canonicalize$': '<rootDir>/node_modules/canonicalize/lib/canonicalize.js',
    '^#migrations$': '<rootDir>/migrations/index.ts',
    '^#locales$': '<rootDir>/locales/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  // Only with `npm run test:long`, or when named: npm test -- test/failover.long
  testPathIgnorePatterns: ['/node_modules/', ...(isLong ? [] : ['\\.long\\.spec\\.ts$'])],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  transform: { '\\.[mc]?[tj]s$': '<rootDir>/scripts/jest/transform.mjs' },
  transformIgnorePatterns: [`<rootDir>/node_modules/(?!(${packages.join('|')})/)`],
  // Only bounds a test that hangs: on a busy machine, any test may take ten times as long.
  testTimeout: 600_000,
  // A worker with a heap of a gigabyte takes longer to end than the default of half a second, and Jest would report a leak.
  workerGracefulExitTimeout: 30_000,
  testSequencer: '<rootDir>/scripts/jest/sequencer.mjs',
  // Jest would use one worker on two cores, but tests wait for their servers. Each further worker starts its own servers:
  // four on two cores took a quarter more CPU time than two, which left a third of it unused.
  maxWorkers: Math.max(3, availableParallelism()),
};
