import { html, type Html } from './html.js';

export type ShareWords = {
  mail: string;
  address: string;
  copy: string;
  copied: string;
  qrCode: string;
  qrAlt: string;
  download: (format: string) => string;
  embed: string;
  embedText: string;
};

/** `text` introduces the link in messages. */
export type Shared = { title: string; text: string; url: string };

/** Plain links for sharing, without third-party buttons, and the address to copy. */
export function ShareLinks({ title, text, url }: Shared, words: ShareWords): Html {
  const [about, address, both] = [text, url, `${text} ${url}`].map(encodeURIComponent);
  const links = [
    [
      words.mail,
      `mailto:?subject=${encodeURIComponent(title)}&body=${encodeURIComponent(`${text}\n\n${url}`)}`,
    ],
    ['WhatsApp', `https://wa.me/?text=${both}`],
    ['Telegram', `https://t.me/share/url?url=${address}&text=${about}`],
    ['Bluesky', `https://bsky.app/intent/compose?text=${both}`],
    // The Mastodon project's own page, on which people choose their server. The text after `#` stays in the browser.
    ['Mastodon', `https://share.joinmastodon.org/#text=${both}`],
    ['Facebook', `https://www.facebook.com/sharer/sharer.php?u=${address}`],
    ['X', `https://x.com/intent/post?text=${about}&url=${address}`],
    ['LinkedIn', `https://www.linkedin.com/sharing/share-offsite/?url=${address}`],
  ] as const;
  return html`<ul class="share">
      ${links.map(
        ([name, href]) => html`<li><a class="button plain" href="${href}" rel="noopener">${name}</a></li>`,
      )}
    </ul>
    ${CopyOf(
      { ...words, name: 'address', label: words.address },
      (attributes) => html`<input ${attributes} type="url" value="${url}" />`,
    )}`;
}

/** {@link ShareLinks}, the QR code of a petition or form, and the code with which another website shows its form. */
export function ShareKit(shared: Shared, words: ShareWords): Html {
  const { pathname, origin, search } = new URL(shared.url);
  const element = pathname.includes('/forms/') ? 'advocacy-form' : 'advocacy-petition';
  const code = `<script src="${origin}/embed.js" async></script>\n<${element} src="${shared.url}"></${element}>`;
  return html`${ShareLinks(shared, words)}
    <details>
      <summary>${words.qrCode}</summary>
      <img class="qr" src="${pathname}/qr.svg${search}" width="240" height="240" alt="${words.qrAlt}" loading="lazy" />
      <ul class="share">
        ${['svg', 'png'].map(
          (format) =>
            html`<li><a class="button plain" href="${pathname}/qr.${format}${search}" download>${words.download(format.toUpperCase())}</a></li>`,
        )}
      </ul>
    </details>
    <details>
      <summary>${words.embed}</summary>
      ${CopyOf(
        { ...words, name: 'embed', label: words.embedText },
        (attributes) => html`<textarea ${attributes} rows="6" spellcheck="false">${code}</textarea>`,
      )}
    </details>`;
}

/** A text to copy, with a button for it if scripts run. @param input receives the attributes that connect it with its label */
export function CopyOf(
  { name, label, copy, copied }: { name: string; label: string; copy: string; copied: string },
  input: (attributes: Html) => Html,
): Html {
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <div class="copy" data-copy="${copy}" data-copied="${copied}">${input(html`id="${name}" readonly`)}</div>
  </div>`;
}
