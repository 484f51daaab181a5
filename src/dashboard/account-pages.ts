import { html, type Html, type Page } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { type ListedPasskey, type ListedSession } from '../team/index.js';
import { pageOf } from './document.js';
import { dateIn } from './parts.js';
import { type Person } from './people.js';
import { PasskeyForm } from './sign-in-pages.js';

export function organizationsPage(
  words: DashboardWords,
  person: Person,
  organizations: { id: string; name: string }[],
): Page {
  const { title, text } = organizations.length === 0 ? words.nowhere : words.organizations;
  return pageOf({
    words,
    person,
    title,
    content: html`<div class="text">
      <p class="lead">${text}</p>
      <ul>
        ${organizations.map(({ id, name }) => html`<li><a href="/dashboard/${id}">${name}</a></li>`)}
      </ul>
    </div>`,
  });
}

type AccountPageOptions = {
  sessions: readonly ListedSession[];
  passkeys: readonly ListedPasskey[];
  /** Options for creating a passkey; undefined if this address cannot have passkeys. */
  adding: object | undefined;
  done: string | undefined;
  /** The person's email address. */
  name: string;
};

export function accountPage(
  words: DashboardWords,
  person: Person,
  { sessions, passkeys, adding, done, name }: AccountPageOptions,
): Page {
  const { title, text, this: here, seen, end } = words.sessions;
  return pageOf({
    words,
    person,
    section: 'account',
    title: words.account,
    back: { href: '/dashboard', text: words.organizations.title },
    done,
    scripts: ['passkey'],
    content: html`<p class="lead">${words.sessions.who(name)}</p>
    ${PasskeysOf(words, passkeys, adding)}
    <section class="text section">
      <h2>${title}</h2>
      <p>${text}</p>
      <ul>
        ${sessions.map(({ id, browser, seenAt }) =>
          id === person.session.id
            ? html`<li>${browser}: ${here}</li>`
            : html`<li>
                ${browser}: ${seen(dateIn(words, seenAt))}
                <form method="post" action="/dashboard/account/sessions/${id}/end">
                  <button class="button plain" aria-label="${end(browser)}">${words.signOut}</button>
                </form>
              </li>`,
        )}
      </ul>
    </section>`,
  });
}

function PasskeysOf(
  words: DashboardWords,
  passkeys: readonly ListedPasskey[],
  adding: object | undefined,
): Html {
  const { title, text, none, add, made, used, remove, removeOf } = words.passkeys;
  return html`<section class="text">
    <h2>${title}</h2>
    <p>${text}</p>
    ${
      passkeys.length === 0
        ? html`<p>${none}</p>`
        : html`<ul>
            ${passkeys.map(
              ({ id, name, madeAt, usedAt }) =>
                html`<li>
                  ${name}: ${made(dateIn(words, madeAt))}${usedAt === null ? null : `, ${used(dateIn(words, usedAt))}`}
                  <a href="/dashboard/account/passkeys/${id}" aria-label="${removeOf(name)}">${remove}</a>
                </li>`,
            )}
          </ul>`
    }
    ${
      adding
        ? PasskeyForm({
            words,
            action: '/dashboard/account/passkeys',
            kind: 'create',
            options: adding,
            title: null,
            button: add,
          })
        : null
    }
  </section>`;
}

/** Asks for confirmation. */
export function passkeyPage(words: DashboardWords, person: Person, { name }: ListedPasskey): Page {
  const { remove, removeOf, removing } = words.passkeys;
  return pageOf({
    words,
    person,
    section: 'account',
    title: `${removeOf(name)}?`,
    back: { href: '/dashboard/account', text: words.account },
    content: html`<div class="text">
      <p>${removing}</p>
      <form method="post"><p><button class="button">${remove}</button></p></form>
      <p><a href="/dashboard/account">${words.cancel}</a></p>
    </div>`,
  });
}
