import { html, trusted } from '#libs/pages';

/** An email with a single call to action: its text and its button. */
export type Letter = {
  /** The language of the text, as in HTML's `lang`. */
  language: string;
  paragraphs: readonly string[];
  button: { url: string; text: string };
  /** Below the button. */
  after: readonly string[];
  /** The sender, line by line. */
  foot: readonly string[];
};

export const FONT = 'font-family:-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica,Arial,sans-serif';

/** The two parts of the message. The plain text contains the button's URL. */
export function writeLetter(letter: Letter): { text: string; html: string } {
  return { text: textOf(letter), html: htmlOf(letter) };
}

function textOf({ paragraphs, button, after, foot }: Letter): string {
  return [...paragraphs, button.url, ...after, `-- \n${foot.join('\n')}`].join('\n\n') + '\n';
}

function htmlOf({ language, paragraphs, button, after, foot }: Letter): string {
  const paragraph = (text: string) => html`<p style="margin:0 0 16px">${text}</p>`;
  return String(
    html`<!doctype html>
      <html lang="${language}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width,initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <style>
            ${trusted(':root{color-scheme:light dark}')}
          </style>
        </head>
        <body style="margin:0;padding:24px;${FONT};font-size:16px;line-height:1.5">
          <div style="max-width:600px;margin:0 auto">
            ${paragraphs.map(paragraph)}
            <p style="margin:24px 0">
              <a
                href="${button.url}"
                style="display:inline-block;padding:12px 24px;border-radius:6px;background-color:#0b57d0;color:#ffffff;font-weight:600;text-decoration:none"
                >${button.text}</a
              >
            </p>
            ${after.map(paragraph)}
            <p style="margin:32px 0 0;font-size:14px">
              ${foot.map((line, n) => html`${n > 0 ? html`<br />` : null}${line}`)}
            </p>
          </div>
        </body>
      </html>
`,
  );
}
