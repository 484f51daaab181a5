import { html, type Html } from '#libs/pages';
import { idFieldOf } from '#libs/rpc';
import { type DashboardWords } from '#locales';
import { ActivityLog } from './activity-log.js';
import { draftsOf } from './drafts.js';
import { type Column, type ListOptions, listPages } from './list-pages.js';
import { type FormInput, type PageContext } from './page-context.js';
import { type PageDefinition } from './page.js';
import { ButtonLink, ButtonOf, ConfirmForm } from './parts.js';
import { type Section, textsIn } from './sections.js';

/** `updatedAt`: of records that forms change. */
type Shown = { id: string; updatedAt?: string | Date; name?: string; title?: string };

type Kind<Shows> = {
  section: Section;
  /** Its name in the API: `post`. */
  record: string;
  /** The path of the section, if it differs from its name. */
  path?: string;
  /** The name of the id in addresses, if it differs from `record`. */
  param?: string;
  /** The service of its scopes, if it differs from `record`. */
  scope?: string;
  /** By default, the title or the name. */
  titleOf?: (record: Shows) => string;
  /** Loads the record of an address, if no operation does. @throws RpcError NOT_FOUND */
  find?: (context: PageContext) => Promise<Shows>;
};

type Changed = { updatedAt: string | Date };
type Back = { href: string; text: string };
type Question = Omit<Parameters<typeof ConfirmForm>[1], 'back'> & { title: string; back?: Back };
type Act = NonNullable<PageDefinition['act']>;
type Content = Html | Promise<Html>;

/** `link` and `press` lead to pages below the record's, such as `edit`; `press` acts immediately. */
export type Steps = {
  mayWrite: boolean;
  link: (step: string, text: string, isPlain?: boolean) => Html;
  press: (step: string, text: string, isPlain?: boolean) => Html;
};

/** The fields that a form sends to the operation. */
type Input<Shows> = (context: PageContext, record: Shows) => object | Promise<object>;

type PageBelow<Shows> = {
  title: (words: DashboardWords, record: Shows, context: PageContext) => string | Promise<string>;
  content: (context: PageContext, record: Shows) => Content;
  /** By default, to the record's page. */
  back?: (context: PageContext, record: Shows) => Back;
};

/** Converts an error of the operation, whose fields are not those of the form. */
type Explain = (error: unknown, form: FormInput) => unknown;

async function run<Answer>(context: PageContext, operation: string, fields: object, explain?: Explain) {
  try {
    return await context.api.run<Answer>(operation, fields as Record<string, unknown>);
  } catch (error) {
    throw explain ? explain(error, context.form) : error;
  }
}

/** The pages of a kind of records. Behind them are its operations in the API: `create-post`, `update-post`, … */
export function recordPages<Shows extends Shown>(kind: Kind<Shows>) {
  const { section, record: object, path = section, param = object, scope = object } = kind;
  const { titleOf = ({ title, name }: Shows) => title ?? name ?? '' } = kind;
  const [needs, writes] = [`${scope}:read`, `${scope}:write`];
  const idField = idFieldOf(object);
  const idIn = ({ address: { params } }: PageContext) => params[param]!;
  const named = (operation: string) => `${object}.${operation}-${object}`;
  const find = kind.find ?? ((context) => context.api.run<Shows>(named('get'), { [idField]: idIn(context) }));
  const drafts = draftsOf(path);
  const toAll = ({ words, address }: PageContext): Back => ({
    href: address.path(path),
    text: textsIn(words, section).title,
  });
  const to = ({ address }: Pick<PageContext, 'address'>, one: Shows): Back => ({
    href: address.path(`${path}/${one.id}`),
    text: titleOf(one),
  });

  function page(
    name: string,
    { needs, title, content, back = to }: PageBelow<Shows> & { needs: string },
  ): Omit<PageDefinition, 'act'> {
    return {
      path: `${path}/:${param}/${name}`,
      needs,
      show: async (context) => {
        const record = await find(context);
        return context.view.page({
          section,
          back: back(context, record),
          title: await title(context.words, record, context),
          content: await content(context, record),
        });
      },
    };
  }

  /** A page below the record's, with a form that changes it. */
  function form(
    name: string,
    {
      input,
      isAgain,
      explain,
      keepsDrafts = false,
      ...shown
    }: PageBelow<Shows> & {
      input: Input<Shows>;
      /** Whether the form only asks to be shown again. */
      isAgain?: ((form: FormInput) => boolean) | undefined;
      explain?: Explain | undefined;
      keepsDrafts?: boolean | undefined;
    },
  ): PageDefinition {
    const content: PageBelow<Shows>['content'] = async (context, record) => {
      if (keepsDrafts) await drafts.restore(context, record);
      return shown.content(context, record);
    };
    return {
      ...page(name, { needs: writes, ...shown, content }),
      act: async (context) => {
        const drafted = keepsDrafts ? await drafts.act(context, idIn(context)) : undefined;
        if (drafted) return drafted;
        if (isAgain?.(context.form)) return context.form.again();
        const record = await find(context);
        context.form.requireSame(record as Changed);
        const fields = { [idField]: record.id, ...(await input(context, record)) };
        await run(context, named('update'), fields, explain);
        if (keepsDrafts) await drafts.discard(context, record.id);
        return { to: `${path}/${record.id}`, done: `${section}.changed` };
      },
    };
  }

  /**
   * A page that asks for confirmation, and performs a step with the operation of the same name.
   *
   * @param fields further input of the operation. @param all whether the list confirms the step, instead of the record's page.
   */
  function step(
    name: string,
    {
      ask,
      done = name,
      needs = writes,
      all = false,
      fields = {},
      act,
    }: {
      ask: (context: PageContext, record: Shows) => Question | Promise<Question>;
      done?: string;
      needs?: string;
      all?: boolean;
      fields?: object;
      act?: Act;
    },
  ): PageDefinition {
    return {
      path: `${path}/:${param}/${name}`,
      needs,
      show: async (context) => {
        const record = await find(context);
        const { title, back, ...question } = await ask(context, record);
        return context.view.page({
          section,
          ...(back && { back }),
          title,
          content: ConfirmForm(context, { ...question, back: `${path}/${record.id}` }),
        });
      },
      act:
        act ??
        (async (context) => {
          const id = idIn(context);
          await context.api.run(named(name), { [idField]: id, ...fields });
          return { to: all ? path : `${path}/${id}`, done: `${section}.${done}` };
        }),
    };
  }

  /** `keepsDrafts`: what is typed is saved as a draft until the form is saved. */
  type Adding = Pick<Parameters<typeof form>[1], 'isAgain' | 'explain' | 'keepsDrafts'> & {
    content: (context: PageContext, record?: Shows) => Content;
    input: (context: PageContext, record?: Shows) => object | Promise<object>;
    newTitle?: (words: DashboardWords) => string;
    /** Answers the form; by default, with a redirect to the new record's page. */
    created?: (context: PageContext, made: Record<string, string>) => Awaited<ReturnType<Act>>;
  };
  type Writing = Adding & { editTitle?: (words: DashboardWords, name: string) => string };

  /** The page that creates a record. */
  function adding({
    content,
    input,
    isAgain,
    explain,
    keepsDrafts = false,
    created,
    newTitle,
  }: Adding): PageDefinition {
    return {
      path: `${path}/new`,
      needs: writes,
      show: async (context) => {
        if (keepsDrafts) await drafts.restore(context);
        return context.view.page({
          section,
          back: toAll(context),
          title: newTitle?.(context.words) ?? textsIn(context.words, section).add,
          content: await content(context),
        });
      },
      act: async (context) => {
        const drafted = keepsDrafts ? await drafts.act(context) : undefined;
        if (drafted) return drafted;
        if (isAgain?.(context.form)) return context.form.again();
        const made = await run<Record<string, string>>(
          context,
          named('create'),
          await input(context),
          explain,
        );
        if (keepsDrafts) await drafts.discard(context);
        if (created) return created(context, made);
        return { to: `${path}/${made[idField]!}`, done: `${section}.created` };
      },
    };
  }

  /** The record's page, which ends with its activity. @param load what else it shows. */
  function shownWith<Beside>(
    load: (context: PageContext, found: Promise<Shows>) => Promise<Beside>,
    content: (context: PageContext, record: Shows, steps: Steps, beside: Beside) => Content,
    activity: (context: PageContext, found: Promise<Shows>) => Promise<Html> = (context) =>
      ActivityLog(context, idIn(context)),
  ): PageDefinition {
    return {
      path: `${path}/:${param}`,
      needs,
      show: async (context) => {
        const found = find(context);
        const loaded = [found, load(context, found), activity(context, found)] as const;
        const [record, beside, past] = await Promise.all(loaded);
        const at = (name: string) => `${path}/${record.id}/${name}`;
        const steps: Steps = {
          mayWrite: context.person.may(writes),
          link: (name, text, isPlain = true) => ButtonLink(context.address, at(name), text, isPlain),
          press: (name, text, isPlain) => ButtonOf(context.address, at(name), text, isPlain),
        };
        return context.view.page({
          section,
          back: toAll(context),
          title: titleOf(record),
          content: html`${await content(context, record, steps, beside)} ${past}`,
        });
      },
    };
  }

  return {
    ...{ find, toAll, to, page, form, step },

    list: (options: Omit<ListOptions<Shows>, 'path' | 'section' | 'needs' | 'operation'>) =>
      listPages<Shows>({
        ...{ path, section, needs, operation: `${object}.list-${object}s` },
        add: { path: `${path}/new`, text: (words) => textsIn(words, section).add, needs: writes },
        ...options,
      }),

    /** A list of what belongs to a record, by the id of the record. */
    listBelow: <Listed extends { id?: string }>(
      name: string,
      { fields, ...options }: Omit<ListOptions<Listed>, 'path' | 'section' | 'needs' | 'back'>,
    ) =>
      listPages<Listed>({
        ...{ path: `${path}/:${param}/${name}`, section, needs },
        back: async (context) => to(context, await find(context)),
        fields: (context) => ({ [idField]: idIn(context), ...fields?.(context) }),
        ...options,
      }),

    /**
     * The column with the record's title, which leads to its page. Operations sort by `name`.
     *
     * @param name by default, that of the record's name.
     */
    titleColumn: (name?: (words: DashboardWords) => string): Column<Shows> => ({
      name: name ?? (({ nameOf }) => nameOf),
      ...(name === undefined && kind.titleOf === undefined ? { sort: 'name' } : {}),
      cell: (record, context) => {
        const { href, text } = to(context, record);
        return html`<a href="${href}">${text}</a>`;
      },
      exported: titleOf,
    }),

    /** The pages that create and change a record. */
    writing({
      editTitle = ({ posts }, name) => `${posts.edit}: ${name}`,
      ...written
    }: Writing): PageDefinition[] {
      const title = (words: DashboardWords, record: Shows) => editTitle(words, titleOf(record));
      return [adding(written), form('edit', { title, ...written })];
    },
    adding,

    shown: (content: (context: PageContext, record: Shows, steps: Steps) => Content) =>
      shownWith(() => Promise.resolve(undefined), content),
    shownWith,

    deletion: ({
      isFinal = true,
      named = titleOf,
      fields = {},
    }: { isFinal?: boolean; named?: (record: Shows) => string; fields?: object } = {}) =>
      step('delete', {
        ask: ({ words }, record) => {
          const { title, text, button } = textsIn(words, section).deleting;
          return { title: title(named(record)), text, button: button(named(record)), isFinal };
        },
        ...{ done: 'deleted', all: true, fields },
      }),
  };
}
