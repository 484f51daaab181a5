import { html, type Html } from '#libs/pages';
import { noSuch } from '#libs/rpc';
import { ImportJobs, type StoredImport, ImportUndos } from '../../contacts/import/jobs/index.js';
import { type PageContext } from '../page-context.js';
import { ButtonLink, Facts, numberIn, Progress, SectionOf } from '../parts.js';
import { recordPages } from '../record-pages.js';

const imports = recordPages<StoredImport>({
  section: 'contacts',
  path: 'contacts/import',
  record: 'import',
  scope: 'contact',
  find: ({ address, api }) => api.find(ImportJobs).find(api.organizationId, address.params.import!),
});

/** The page that shows what the undo of an import deletes, and starts it. */
export const undoPage = imports.step('undo', {
  ask: async ({ words, api }, found) => {
    const { undo } = words.contacts.imports;
    if (found.status === 'KEPT') throw noSuch('import');
    const preview = await api.find(ImportUndos).preview(api.organizationId, found.id);
    return {
      title: undo.title,
      text: preview ? undo.text(preview.deleted, preview.kept) : undo.textOfMany(createdBy(found)),
      button: preview ? undo.button(preview.deleted) : undo.open,
      isFinal: true,
    };
  },
  done: 'undone',
});

export function isUndoing({ undo }: StoredImport): boolean {
  return undo?.status === 'QUEUED' || undo?.status === 'RUNNING';
}

/** Links to `undoPage`. Null if there is nothing to undo, or too late. */
export function UndoLink({ words, address }: PageContext, stored: StoredImport): Html | null {
  const { id, isRecent, undo, plan } = stored;
  const isOpen = undo === null || undo.status === 'FAILED';
  return isRecent && isOpen && createdBy(stored) > 0 && plan.isDryRun !== true
    ? ButtonLink(address, `contacts/import/${id}/undo`, words.contacts.imports.undo.open, true)
    : null;
}

export function UndoOf({ words }: PageContext, stored: StoredImport): Html | null {
  if (!stored.undo) return null;
  const { states, failedText, deleted, kept, keptHint, label } = words.contacts.imports.undo;
  const { undo } = stored;
  return SectionOf(states[undo.status], [
    undo.status === 'FAILED' ? html`<div class="faults" role="alert"><p>${failedText}</p></div>` : null,
    isUndoing(stored)
      ? Progress({ words, name: 'undo', label, value: undo.deleted + undo.kept, max: createdBy(stored) })
      : null,
    Facts([
      { name: deleted, value: numberIn(words, undo.deleted) },
      { name: kept, value: numberIn(words, undo.kept) },
    ]),
    undo.kept > 0 ? html`<p class="hint">${keptHint}</p>` : null,
  ]);
}

function createdBy({ result }: StoredImport): number {
  return result?.answer?.created ?? 0;
}
