import { type PageDefinition } from './page.js';
import { type PageContext } from './page-context.js';
import { ConfirmForm } from './parts.js';
import { type Section } from './sections.js';

type Question = Omit<Parameters<typeof ConfirmForm>[1], 'back'> & { title: string };

/**
 * A page that asks for confirmation, and performs a step of a record with the operation of the same name.
 *
 * @param path of the section, relative to the organization. @param record the record's kind in the API. @param fields further input of the operation. @param to the page that confirms the step;
 *   by default the record's.
 */
export function stepPage({
  section,
  path = section,
  record,
  step,
  needs = `${record}:write`,
  ask,
  fields = {},
  done,
  to,
}: {
  section: Section;
  path?: string;
  record: string;
  step: string;
  needs?: string;
  ask: (context: PageContext) => Promise<Question>;
  fields?: Record<string, unknown>;
  done: string;
  to?: string;
}): PageDefinition {
  return {
    path: `${path}/:${record}/${step}`,
    needs,
    show: async (context) => {
      const { title, ...question } = await ask(context);
      const back = `${path}/${context.address.params[record]!}`;
      return context.view.page({ section, title, content: ConfirmForm(context, { ...question, back }) });
    },
    act: async ({ address: { params }, api }) => {
      await api.run(`${record}.${step}-${record}`, { [`${record}Id`]: params[record], ...fields });
      return { to: to ?? `${path}/${params[record]!}`, done: `${section}.${done}` };
    },
  };
}

/** Sections whose records are deleted after a simple confirmation. */
type Deleting =
  | 'petitions'
  | 'forms'
  | 'posts'
  | 'images'
  | 'broadcasts'
  | 'customFields'
  | 'segments'
  | 'webhooks';

/** The page that confirms the deletion of a record, and deletes it. @param find loads the record */
export function deletionPage({
  section,
  path = section,
  record,
  find,
  isFinal = true,
  fields,
}: {
  section: Deleting;
  path?: string;
  record: string;
  find: (context: PageContext) => Promise<{ name: string; title?: string }>;
  isFinal?: boolean;
  fields?: Record<string, unknown>;
}): PageDefinition {
  return stepPage({
    section,
    path,
    record,
    step: 'delete',
    ask: async (context) => {
      const { name, title = name } = await find(context);
      const { title: question, text, button } = context.words[section].deleting;
      return { title: question(title), text, button: button(title), isFinal };
    },
    ...(fields ? { fields } : {}),
    done: 'deleted',
    to: path,
  });
}
