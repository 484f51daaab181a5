/** The rules between modules: see docs/internals/house.md. */

/** In order: each library may import only those above it in this list. */
const libs = [
  'verify',
  'terminal',
  'tracing',
  'random',
  'measures',
  'threads',
  'storage',
  'pages',
  'database',
  'work',
  'event-store',
  'sealing',
  'projections',
  'rpc',
  'commands',
  'subscriptions',
  'links',
  'resources',
  'modules',
  'records',
  'rate-limit',
  'mail',
  'operations',
];

/** The upper floors of src; all other folders are modules, on the lowest. A floor imports only itself and those below. */
const upperFloors = [
  ['dashboard', 'site', 'unsubscribe'],
  ['cli', 'demo', 'doctor', 'main', 'modules', 'server'],
];
const onFloors = (floors) => `^src/(${floors.flat().join('|')})(/|\\.ts$)`;

/** Tests are next to the code, may import more than it, and are not built. */
const tests = '\\.(spec|contract)\\.ts$';

module.exports = {
  forbidden: [
    {
      name: 'through-the-door-only',
      comment: 'A module of src/ or libs/ is entered through its index.ts, never through its inner files.',
      severity: 'error',
      // main.ts loads only the part of the server that the process runs.
      from: { path: '^(src|libs|locales|migrations|test|bench)/([^/]+)/?', pathNot: '^src/main\\.ts$' },
      to: { path: '^(src|libs)/([^/]+)/', pathNot: ['/index\\.ts$', '^$1/$2/'] },
    },
    {
      name: 'libs-never-import-src',
      comment: 'The libraries do not depend on the product.',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^src/' },
    },
    ...libs.map((lib, index) => ({
      name: 'libs-build-upwards',
      comment: 'A library imports only those listed before it in .dependency-cruiser.cjs.',
      severity: 'error',
      from: { path: `^libs/${lib}/`, pathNot: tests },
      to: { path: '^libs/', pathNot: `^libs/(${libs.slice(0, index + 1).join('|')})/` },
    })),
    ...upperFloors.map((floor, index) => ({
      name: 'floors-build-upwards',
      comment: 'Modules know no pages, and neither knows the command line or the server.',
      severity: 'error',
      from: { path: '^src/', pathNot: [onFloors(upperFloors.slice(index)), tests] },
      to: { path: onFloors([floor]) },
    })),
    {
      name: 'pages-never-import-other-pages',
      comment: 'The public site, the dashboard and the unsubscribe page share libs/pages and nothing else.',
      severity: 'error',
      from: { path: `^src/(${upperFloors[0].join('|')})/`, pathNot: tests },
      to: { path: `^src/(${upperFloors[0].join('|')})/`, pathNot: '^src/$1/' },
    },
    {
      name: 'parts-never-import-pages',
      comment:
        'Pages of the dashboard import its parts. Only pages.ts, controllers and other pages import pages.',
      severity: 'error',
      from: {
        path: '^src/dashboard/[^/]+$',
        pathNot: [
          '/(index|pages|(home|account|search|sign-in)-pages|[^/]+\\.(module|controller))\\.ts$',
          tests,
        ],
      },
      to: { path: '^src/dashboard/((?!browser/)[^/]+/|(pages|(home|account|search|sign-in)-pages)\\.ts$)' },
    },
    {
      name: 'locales-are-texts',
      comment:
        'Texts format numbers and name the reasons of errors. They import nothing else of the product.',
      severity: 'error',
      from: { path: '^locales/', pathNot: tests },
      to: { pathNot: ['^locales/', '^libs/(pages|rpc)/index\\.ts$'] },
    },
    {
      name: 'locales-through-the-door-only',
      severity: 'error',
      from: { pathNot: '^locales/' },
      to: { path: '^locales/', pathNot: '^locales/index\\.ts$' },
    },
    {
      name: 'dashboard-has-no-data',
      comment: 'The dashboard has pages, forms and words. Modules read and write tables and events.',
      severity: 'error',
      from: { path: '^src/dashboard/', pathNot: tests },
      to: {
        path: ['^libs/(database|event-store|projections|storage|records)/', 'node_modules/(typeorm|pg)/'],
      },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { path: '^(src|migrations)/', pathNot: tests },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'no-cycles',
      comment: 'Including cycles of types: files that cannot be read one after another belong together.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-dead-ends',
      comment: 'The rules can only check resolved imports.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'verification-stands-alone',
      comment:
        'The verifier shares no code with the writers of the history, and imports no package: it is one file to download.',
      severity: 'error',
      from: { path: '^libs/verify/', pathNot: tests },
      to: { pathNot: '^libs/verify/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'verification-only-reads',
      comment:
        'The verification of the database shares no code with the writers of the history. It only reads rows.',
      severity: 'error',
      from: { path: '^src/audit/verify/', pathNot: tests },
      to: {
        pathNot: ['^src/audit/verify/', '^libs/(database|verify)/index\\.ts$'],
        dependencyTypesNot: ['core'],
      },
    },
    {
      name: 'watchers-stand-alone',
      comment: 'The monitor and the witness run on other machines. They share code only with the verifier.',
      severity: 'error',
      from: { path: '^src/audit/(monitor/|witness/|(?!index)[^/]+$)', pathNot: tests },
      to: {
        pathNot: [
          '^src/audit/(verify|monitor|witness)/',
          '^src/audit/(?!index)[^/]+$',
          '^libs/(database|verify)/index\\.ts$',
        ],
        dependencyTypesNot: ['core'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    // The default parser does not know TypeScript. It guesses, and takes longer.
    parser: 'swc',
    exclude: '^dist',
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};
