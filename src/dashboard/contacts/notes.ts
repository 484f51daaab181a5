import { html, type Html } from '#libs/pages';
import { LONGEST_NOTE, type NoteRecord } from '../../notes/index.js';
import { actorsOf } from '../activity-log.js';
import { type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import { AreaField, ButtonLink, ButtonOf, ConfirmForm, FormOf, MomentOf, SectionOf } from '../parts.js';
import { contactOf, nameOf } from './contact.js';

/** Notes on the page of their contact, and on their own page. */
const [FEW, MANY] = [3, 50];

/** The newest notes of a contact, with a form that adds one. Null without the permission to read notes. */
export async function NotesOf(context: PageContext, contactId: string): Promise<Html | null> {
  const { words, person, address } = context;
  if (!person.may('note:read')) return null;
  const { notes } = words.contacts;
  const path = `contacts/${contactId}/notes`;
  const { records, pagination } = await notesOf(context, contactId, { limit: FEW });
  return SectionOf(notes.title, [
    person.may('note:write') ? ButtonOf(address, path, notes.add, true, TextOf(context)) : null,
    await ListOf(context, contactId, records),
    pagination.hasMore ? html`<p><a href="${address.path(path)}">${notes.all}</a></p>` : null,
  ]);
}

export const notePages: PageDefinition[] = [
  {
    path: 'contacts/:contact/notes',
    needs: 'note:read',
    changes: 'note:write',
    show: async (context) => {
      const { words, person, form, address, view } = context;
      const { title, add, older } = words.contacts.notes;
      const back = await toContact(context);
      const cursor = address.query('cursor');
      const { records, pagination } = await notesOf(context, address.params.contact!, {
        limit: MANY,
        ...(cursor === undefined ? {} : { cursor }),
      });
      return view.page({
        section: 'contacts',
        back,
        title,
        content: html`<div class="text">
          ${person.may('note:write') ? FormOf(form, { fields: [TextOf(context)], button: add }) : null}
          ${await ListOf(context, address.params.contact!, records)}
          ${pagination.hasMore ? html`<p><a href="${address.withQuery({ cursor: pagination.cursor })}">${older}</a></p>` : null}
        </div>`,
      });
    },
    act: async ({ address, form, api }) => {
      const contactId = address.params.contact!;
      await api.run('note.create-note', { contactId, text: form.typed('text') ?? '' });
      return { to: `contacts/${contactId}`, done: 'contacts.noted' };
    },
  },
  {
    path: 'contacts/:contact/notes/:note',
    needs: 'note:write',
    show: async (context) => {
      const { words, form, view } = context;
      const { edit, erase } = words.contacts.notes;
      const [back, note] = await Promise.all([toContact(context), noteOf(context)]);
      return view.page({
        section: 'contacts',
        back,
        title: edit,
        content: html`<div class="text">
          ${FormOf(form, { fields: [TextOf(context, note)], button: words.save, of: note })}
          <p>${ButtonLink(context.address, `contacts/${note.contactId}/notes/${note.id}/delete`, erase, true)}</p>
        </div>`,
      });
    },
    act: async (context) => {
      const { form, api } = context;
      const { id: noteId, contactId, ...note } = await noteOf(context);
      form.requireSame(note);
      await api.run('note.update-note', { contactId, noteId, text: form.typed('text') ?? '' });
      return { to: `contacts/${contactId}`, done: 'contacts.noteChanged' };
    },
  },
  {
    path: 'contacts/:contact/notes/:note/delete',
    needs: 'note:write',
    show: async (context) => {
      const { title, text, button } = context.words.contacts.notes.deleting;
      const [back, note] = await Promise.all([toContact(context), noteOf(context)]);
      return context.view.page({
        section: 'contacts',
        back,
        title,
        content: html`<blockquote class="original">${note.text}</blockquote>
          ${ConfirmForm(context, { text, button, back: `contacts/${note.contactId}`, isFinal: true })}`,
      });
    },
    act: async ({ address, api }) => {
      const { contact: contactId, note: noteId } = address.params;
      await api.run('note.delete-note', { contactId, noteId });
      return { to: `contacts/${contactId!}`, done: 'contacts.noteDeleted' };
    },
  },
];

type NotePage = { records: NoteRecord[]; pagination: { cursor: string | null; hasMore: boolean } };

function notesOf({ api }: PageContext, contactId: string, page: { limit: number; cursor?: string }) {
  return api.run<NotePage>('note.list-notes', { contactId, ...page });
}

function noteOf({ address, api }: PageContext): Promise<NoteRecord> {
  const { contact: contactId, note: noteId } = address.params;
  return api.run<NoteRecord>('note.get-note', { contactId, noteId });
}

async function toContact(context: PageContext): Promise<{ href: string; text: string }> {
  const contact = await contactOf(context);
  return { href: context.address.path(`contacts/${contact.id}`), text: nameOf(contact) };
}

function TextOf({ form, words }: PageContext, note?: NoteRecord): Html {
  const { text, one, hint } = words.contacts.notes;
  return AreaField(form, {
    name: 'text',
    label: note ? one : text,
    hint,
    max: LONGEST_NOTE,
    ...(note ? { value: note.text } : {}),
  });
}

async function ListOf(context: PageContext, contactId: string, notes: readonly NoteRecord[]): Promise<Html> {
  const { words, person, address } = context;
  const { none, edit, edited } = words.contacts.notes;
  if (notes.length === 0) return html`<p class="small">${none}</p>`;
  const authorOf = await actorsOf(
    context,
    notes.map(({ author }) => author),
  );
  return html`<ul class="past">
    ${notes.map(({ id, text, createdAt, version, author }) => {
      const change = html` · <a href="${address.path(`contacts/${contactId}/notes/${id}`)}">${edit}</a>`;
      return html`<li>
        <p class="note">${text}</p>
        <p class="small">
          ${MomentOf(words, new Date(createdAt))} · ${authorOf(author)}${version > 1 ? ` · ${edited}` : null}${person.may('note:write') ? change : null}
        </p>
      </li>`;
    })}
  </ul>`;
}
