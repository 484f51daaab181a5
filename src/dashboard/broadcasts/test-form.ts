import { html, type Html } from '#libs/pages';
import { RpcError } from '#libs/rpc';
import { Team } from '../../team/index.js';
import { type PageContext } from '../page-context.js';
import { FormOf, TextField } from '../parts.js';

/** Asks for the address of a test email: by default, the member's own. */
export async function TestForm({ words, form, api, person }: PageContext): Promise<Html> {
  const { test } = words.broadcasts;
  const own = await api.find(Team).emailOf(api.organizationId, person.organization.memberId);
  const to = {
    name: 'to',
    label: test.to,
    type: 'email',
    autocomplete: 'email',
    max: 254,
    value: own ?? '',
  } as const;
  return html`<div class="text">
    <p class="lead">${test.text}</p>
    ${FormOf(form, { fields: [TextField(form, to)], button: test.button })}
  </div>`;
}

/** @param fields of the operation, in addition to the address. @throws RpcError BAD_REQUEST if the mail server rejects the email. */
export async function sendTest(
  { words, form, api }: Pick<PageContext, 'words' | 'form' | 'api'>,
  operation: string,
  fields: object,
): Promise<void> {
  const { outcomes } = await api.run<{ outcomes: { sent: boolean; detail: string }[] }>(operation, {
    ...fields,
    to: [form.typed('to') ?? ''],
  });
  const failed = outcomes.find(({ sent }) => !sent);
  if (failed) throw new RpcError('BAD_REQUEST', words.broadcasts.test.failed(failed.detail));
}
