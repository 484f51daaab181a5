/** The modules of further kinds of records: `npm run new` adds lines at the end. Never reorder them. */
export {};
