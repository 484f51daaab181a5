import { type PageDefinition } from './page.js';
import { ConfirmForm } from './parts.js';
import { type PageContext } from './page-context.js';

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
  find: (context: PageContext) => Promise<{ id: string; name: string; title?: string }>;
  fields?: Record<string, unknown>;
}): PageDefinition {
  return {
    path: `${section}/:${record}/delete`,
    needs: `${record}:write`,
    show: async (context) => {
      const { id, name, title = name } = await find(context);
      const { title: question, text, button } = context.words[section].deleting;
      return context.page({
        section,
        title: question(title),
        content: ConfirmForm(context, {
          text,
          button: button(title),
          back: `${section}/${id}`,
          isFinal: true,
        }),
      });
    },
    act: async (context) => {
      await context.run(`${record}.delete-${record}`, { [`${record}Id`]: context.params[record], ...fields });
      return { to: section, done: `${section}.deleted` };
    },
  };
}
