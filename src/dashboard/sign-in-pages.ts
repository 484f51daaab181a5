import { FaultsOf, FieldOf, html, type Html, type Page } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { LINK_MINUTES } from '../team/index.js';
import { noticePage, pageOf } from './document.js';

type SignInPageOptions = {
  email?: string;
  fault?: string;
  done?: string | undefined;
  passkey?: object | undefined;
  /** The server writes emails to files. */
  isWritten?: boolean;
};

export function signInPage(
  words: DashboardWords,
  { email = '', fault, done, passkey, isWritten = false }: SignInPageOptions = {},
): Page {
  const { title, hint, button } = words.signIn;
  const text = isWritten ? words.signIn.written : words.signIn.text;
  return pageOf({
    words,
    title: fault === undefined ? title : `${words.faults.prefix}${title}`,
    heading: title,
    ...(fault === undefined ? {} : { status: 422 }),
    done,
    scripts: ['passkey'],
    content: html`<div class="text">
      <p class="lead">${text}</p>
      ${
        fault === undefined
          ? null
          : FaultsOf({ title: words.faults.title, faults: [{ field: 'email', text: fault }] })
      }
      <form method="post" action="/dashboard/sign-in" novalidate>
        ${FieldOf(
          { name: 'email', label: words.email, hint, fault, isRequired: true },
          (attributes) =>
            html`<input ${attributes} type="email" autocomplete="email" maxlength="254" value="${email}" />`,
        )}
        <p><button class="button">${button}</button></p>
      </form>
      ${
        passkey
          ? PasskeyForm({
              words,
              action: '/dashboard/passkey',
              kind: 'get',
              options: passkey,
              title: words.passkeys.or,
              button: words.passkeys.signIn,
            })
          : null
      }
    </div>`,
  });
}

type PasskeyFormOptions = {
  words: DashboardWords;
  action: string;
  kind: 'get' | 'create';
  options: object;
  title: string | null;
  button: string;
};

/** Hidden unless the browser supports passkeys. Its script asks the device and sends the form with the response. */
export function PasskeyForm({ words, action, kind, options, title, button }: PasskeyFormOptions): Html {
  return html`<form
    method="post"
    action="${action}"
    hidden
    data-passkey="${kind}"
    data-options="${JSON.stringify(options)}"
    data-failed="${words.passkeys.failed}"
  >
    ${title === null ? null : html`<h2>${title}</h2>`}
    <input type="hidden" name="response" />
    <p class="fault" role="alert" hidden></p>
    <p><button class="button plain">${button}</button></p>
  </form>`;
}

export function sentPage(words: DashboardWords): Page {
  const { title, text, hint } = words.sent;
  const more = html`<p>${hint}</p><p><a href="/dashboard/sign-in">${words.sent.again}</a></p>`;
  return noticePage(words, { title, text: text(LINK_MINUTES) }, { more });
}

/**
 * The page after requesting a sign-in link, for servers that write emails to files. Does not reveal whether the address is known.
 *
 * @param folder the files' folder, if the request comes from the machine itself.
 */
export function writtenPage(words: DashboardWords, folder: string | undefined): Page {
  const { title, text, elsewhere, folder: where, command } = words.written;
  const more = html`${
    folder === undefined
      ? html`<p>${elsewhere}</p>`
      : html`<p>${where(folder)}</p>
            <p>${command}</p>
            <pre class="code" tabindex="0">${COMMANDS}</pre>`
  }
    <p><a href="/dashboard/sign-in">${words.sent.again}</a></p>`;
  return noticePage(words, { title, text: text(LINK_MINUTES) }, { more });
}
const COMMANDS = `npm run -s cli -- organization list
npm run -s cli -- user invite --organization ID --email ADDRESS`;

/** Only the button signs in, because mail scanners follow links. */
export function enterPage(words: DashboardWords): Page {
  const { title, text, button } = words.enter;
  return noticePage(words, { title, text }, { more: ButtonOf(button) });
}

export function invitationPage(words: DashboardWords, organization: string, role: string): Page {
  const { title, text, button } = words.invitation;
  return noticePage(words, { title: title(organization), text: text(role) }, { more: ButtonOf(button) });
}

export function badLinkPage(words: DashboardWords): Page {
  const more = html`<p><a class="button" href="/dashboard/sign-in">${words.signIn.button}</a></p>`;
  return noticePage(words, words.badLink, { status: 410, more });
}

function ButtonOf(text: string): Html {
  return html`<form method="post"><p><button class="button">${text}</button></p></form>`;
}
