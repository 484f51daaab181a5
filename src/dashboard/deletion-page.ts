import { type PageDefinition } from './page.js';
import { ConfirmForm } from './parts.js';
import { type Visit } from './visit.js';

/** Sections whose records are deleted after a simple confirmation. */
type Deleting = 'petitions' | 'posts' | 'images' | 'broadcasts';

/**
 * The page that confirms the deletion of a record, and deletes it.
 *
 * @param record the record's kind in the API. @param find loads the record. @param fields further input of the operation.
 */
export function deletionPage({
  section,
  record,
  find,
  fields = {},
}: {
  section: Deleting;
  record: string;
  find: (visit: Visit) => Promise<{ id: string; name: string; title?: string }>;
  fields?: Record<string, unknown>;
}): PageDefinition {
  return {
    path: `${section}/:${record}/delete`,
    needs: `${record}:write`,
    show: async (visit) => {
      const { id, name, title = name } = await find(visit);
      const { title: question, text, button } = visit.words[section].deleting;
      return visit.page({
        section,
        title: question(title),
        content: ConfirmForm(visit, { text, button: button(title), back: `${section}/${id}`, isFinal: true }),
      });
    },
    act: async (visit) => {
      await visit.run(`${record}.delete-${record}`, { [`${record}Id`]: visit.params[record], ...fields });
      return { to: section, done: `${section}.deleted` };
    },
  };
}
