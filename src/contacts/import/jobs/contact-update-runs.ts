import { Injectable } from '@nestjs/common';
import { Input, inputOf, type RequestContext, RpcError } from '#libs/rpc';
import { ContactUpdates } from '../../contact-updates.js';
import { ContactsTable } from '../../contacts-table.js';
import { type FinishedRow, type ImportRun } from '../import-contacts.js';
import { type ContactChanges } from './import-plan.js';

/** Contacts of one request, and of one page of an update in the background. */
export const MOST_UPDATED = 1_000;

/** A page of the contacts that are updated in the background. Not an operation. */
class UpdatePage extends Input {}

/** Attempts at a page whose contacts are deleted at the same time. */
const MOST_ATTEMPTS = 10;

/** Updates the contacts of a stored file, page by page. */
@Injectable()
export class ContactUpdateRuns {
  constructor(
    private readonly updates: ContactUpdates,
    private readonly contacts: ContactsTable,
  ) {}

  /** @param bytes a contact's id per line. @throws RpcError as `ContactUpdates.update`, and `run.ending()`. */
  async run(
    changes: ContactChanges,
    bytes: AsyncIterable<Uint8Array>,
    context: RequestContext,
    run: ImportRun,
  ): Promise<void> {
    let line = 0;
    for await (const ids of pagesOf(bytes)) {
      line += ids.length;
      if (line <= run.after) continue;
      const ending = run.ending();
      if (ending) throw ending;
      const rows = await this.update(changes, ids, context, line - ids.length + 1);
      await run.finish({
        lastLine: line,
        bytes: ids.join('\n').length + 1,
        rows,
      });
    }
    const ending = run.ending();
    if (ending) throw ending;
  }
  /** @returns the outcome for each contact. */
  private async update(
    changes: ContactChanges,
    ids: readonly string[],
    context: RequestContext,
    firstLine: number,
  ): Promise<FinishedRow[]> {
    for (let attempt = 1; ; attempt += 1) {
      const gone = new Set(await this.contacts.findUnknown(context.organizationId, ids));
      const present = ids.filter((id) => !gone.has(id));
      try {
        if (present.length > 0) await this.updates.update(inputOf(UpdatePage, changes, context), present);
      } catch (error) {
        // One of them was deleted in the meantime. A group that was deleted ends the update.
        if (attempt < MOST_ATTEMPTS && error instanceof RpcError && error.code === 'NOT_FOUND') continue;
        throw error;
      }
      const problem = { problem: 'This contact was deleted.', address: '', source: undefined };
      return ids.map((id, n) => {
        const line = firstLine + n;
        return gone.has(id) ? { line, contactId: null, ...problem } : { line, contactId: id, did: 'updated' };
      });
    }
  }
}

async function* pagesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  let page: string[] = [];
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + Buffer.from(chunk).toString('latin1')).split('\n');
    rest = lines.pop()!;
    for (const id of lines) {
      page.push(id);
      if (page.length < MOST_UPDATED) continue;
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}
