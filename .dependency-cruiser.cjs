/** The walls of the house: ARCHITECTURE.md, "The house". */
module.exports = {
  forbidden: [
    {
      name: 'through-the-door-only',
      comment: 'A module of src/ or libs/ is entered through its index.ts, never through its inner files.',
      severity: 'error',
      from: { path: '^(src|libs|migrations|test|bench)/([^/]+)/?' },
      to: { path: '^(src|libs)/([^/]+)/', pathNot: ['/index\\.ts$', '^$1/$2/'] },
    },
    {
      name: 'libs-never-import-src',
      comment: 'The techniques work without the product.',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^src/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    exclude: '(^dist|node_modules)',
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
