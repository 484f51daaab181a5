import { type Page } from '#libs/pages';
import { isId } from '#libs/rpc';
import { type DraftedForm, Drafts } from '../drafts/index.js';
import { type PageContext } from './page-context.js';
import { type PageDefinition } from './page.js';

type Act = NonNullable<PageDefinition['act']>;
type Changed = { id: string; updatedAt?: string | Date };

/** The field with which a script saves a draft, and the button that discards it. */
const DRAFT = 'draft';
/** Fields of a single request. The record's version, `since`, is kept: saving a draft of a changed record asks first. */
const NOT_KEPT = ['once', 'sure', DRAFT];

/** Nothing to show: the script stays on the page. */
const SAVED: Page = { status: 204, headers: { 'Cache-Control': 'no-store' }, body: Buffer.alloc(0) };

/** The drafts of the forms at `<path>/new` and `<path>/<id>/edit`. They need the same scope as the form itself. */
export function draftsOf(path: string) {
  const formOf = (context: Pick<PageContext, 'address'>, recordId: string | undefined) => {
    if (recordId !== undefined) return `${path}/${recordId}/edit`;
    const like = context.address.query('like');
    return like !== undefined && isId(like) ? `${path}/new?like=${like.toLowerCase()}` : `${path}/new`;
  };
  const draftIn = (context: PageContext, recordId: string | undefined): DraftedForm => ({
    organizationId: context.api.organizationId,
    memberId: context.person.organization.memberId,
    form: formOf(context, recordId),
    recordId: recordId ?? null,
  });

  return {
    /** Fills the form with its draft, unless it has just been sent. */
    async restore(context: PageContext, record?: Changed): Promise<void> {
      if (context.form.isTyped) return;
      const draft = await context.api.find(Drafts).find(draftIn(context, record?.id));
      if (draft) context.form.continue(draft, record as { updatedAt: string | Date } | undefined);
    },

    /** Saves or discards the draft, if the form asks for it. @returns undefined if it does not */
    async act(context: PageContext, recordId?: string): Promise<Awaited<ReturnType<Act>> | undefined> {
      const { form, api } = context;
      if (!form.has(DRAFT)) return undefined;
      const draft = draftIn(context, recordId);
      if (form.get(DRAFT) === 'discard') {
        await api.find(Drafts).discard(draft);
        return { to: draft.form };
      }
      const fields = [...form.fields].filter(([name]) => !NOT_KEPT.includes(name));
      await api.find(Drafts).save(draft, fields);
      return SAVED;
    },

    /** What the draft was for is saved. */
    discard: (context: PageContext, recordId?: string): Promise<void> =>
      context.api.find(Drafts).discard(draftIn(context, recordId)),
  };
}
