import { type Locale, type UnsubscribeWords } from '#locales';
import { documentOf, html, type Html, type Page, styleFrom } from '#libs/pages';
import { type LinkedPerson } from './unsubscribe.js';

const STYLE = styleFrom(`
:root{color-scheme:light dark;--ground:#f3f4f6;--sheet:#fff;--ink:#1f2328;--quiet:#57606a;--act:#0b57d0;--on-act:#fff}
@media (prefers-color-scheme:dark){
:root{--ground:#16181d;--sheet:#1f2229;--ink:#e8eaed;--quiet:#a6abb5;--act:#8ab4f8;--on-act:#10131a}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:1.125rem/1.5 system-ui,sans-serif}
main{max-width:34rem;margin:10vh auto 0;padding:2rem;background:var(--sheet);border-radius:.5rem;overflow-wrap:anywhere}
h1{margin:0 0 1rem;font-size:1.75rem;line-height:1.2}
p{margin:0 0 1.5rem}
form p{margin:0 0 1rem;color:var(--quiet)}
button{min-height:2.75rem;padding:.5rem 1.5rem;border:0;border-radius:.375rem;background:var(--act);color:var(--on-act);font:inherit;font-weight:600;cursor:pointer}
button:focus-visible{outline:3px solid var(--ink);outline-offset:3px}
@media (max-width:38rem){main{margin:0;min-height:100vh;border-radius:0}}`);

/**
 * The page behind a link.
 *
 * @param person undefined if the link is invalid.
 * @param locale the visitor's, or the organization's if the visitor has none of ours.
 * @param isBack whether they have just subscribed again.
 */
export function pageOf(person: LinkedPerson | undefined, locale: Locale, isBack = false): Page {
  const { language, unsubscribe: words } = locale;
  const [title, content] = contentOf(person, words, isBack);
  return documentOf({
    language,
    title: person ? `${title} – ${person.organization}` : title,
    style: STYLE,
    body: html`<main>
      <h1>${title}</h1>
      ${content}
    </main>`,
  });
}

/** The text that people read before they press the button, including its label. */
export function wordingOf(
  { organization }: LinkedPerson,
  action: 'unsubscribe' | 'subscribe',
  locale: Locale,
): { text: string; language: string } {
  const { unsubscribe, unsubscribed } = locale.unsubscribe;
  const sentences =
    action === 'unsubscribe'
      ? [unsubscribe.text(organization), unsubscribe.button]
      : [unsubscribed.text(organization), unsubscribed.undo, unsubscribed.button];
  return { text: sentences.join(' '), language: locale.language };
}

function contentOf(
  person: LinkedPerson | undefined,
  words: UnsubscribeWords,
  isBack: boolean,
): [title: string, content: Html] {
  if (!person) return [words.unknown.title, html`<p>${words.unknown.text}</p>`];
  const { organization, isSubscribed, canReturn } = person;
  if (isSubscribed) {
    const { button } = words.unsubscribe;
    const { title, text } = isBack ? words.subscribed : words.unsubscribe;
    return [
      title,
      html`<p>${text(organization)}</p>
        ${form('unsubscribe', button)}`,
    ];
  }
  const { title, text, undo, button } = words.unsubscribed;
  return [
    title,
    html`<p>${text(organization)}</p>
      ${canReturn ? form('subscribe', button, undo) : null}`,
  ];
}

function form(action: string, button: string, question?: string): Html {
  return html`<form method="post">
    ${question === undefined ? null : html`<p>${question}</p>`}
    <button name="action" value="${action}">${button}</button>
  </form>`;
}
