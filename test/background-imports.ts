import { type Client } from './harness.js';
import { eventually } from './processes.js';

/** The lines of a file. */
export const text = (...rows: string[]) => `${rows.join('\n')}\n`;

export const findImport = async (importId: string, by: Client): Promise<any> =>
  (await by.get('import.get-import', { importId })).body.data;

/** Waits for the end of an import. */
export async function endedImport(importId: string, by: Client): Promise<any> {
  let found: any;
  await eventually(async () => {
    found = await findImport(importId, by);
    expect(['DONE', 'FAILED', 'CANCELLED']).toContain(found.status);
  });
  return found;
}

/** The records of a response in NDJSON. */
export const recordsIn = (body: string): any[] =>
  body.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
