/**
 * For other sites: `<advocacy-petition src="https://…/petitions/…"></advocacy-petition>` (or `advocacy-form`) becomes a frame with the height of its
 * content. The content between the tags, such as a link, is the fallback without scripts. Its attributes and events are described in
 * docs/guides/public-site.md.
 */
const own = new URL((document.currentScript as HTMLScriptElement).src).origin;
for (const name of ['advocacy-petition', 'advocacy-form']) {
  if (!('customElements' in window) || customElements.get(name)) continue;
  customElements.define(
    name,
    class extends HTMLElement {
      private frame: HTMLIFrameElement | undefined;
      private named: string | undefined;
      private dispatched = new Set<string>();

      connectedCallback() {
        let url: URL;
        try {
          url = new URL(this.getAttribute('src') ?? '', own);
        } catch {
          return;
        }
        if (url.origin !== own || this.frame) return;
        // Moving the element connects it again, without its first content.
        this.named ??= [this.getAttribute('title'), this.textContent.trim(), 'Petition'].find(Boolean)!;
        for (const attribute of ['source', 'theme', 'colour', 'fields']) {
          const value = this.getAttribute(attribute);
          if (value !== null) url.searchParams.set(attribute, value);
        }
        const frame = document.createElement('iframe');
        frame.src = `${own}${url.pathname.replace(/\/+$/, '')}/embed${url.search}`;
        frame.title = this.named;
        frame.loading = 'lazy';
        frame.style.cssText = 'display:block;width:100%;height:40rem;border:0';
        this.frame = frame;
        window.addEventListener('message', this);
        this.replaceChildren(frame);
      }

      /** A message from the frame: see frame.ts. */
      handleEvent({
        origin,
        source,
        data,
      }: MessageEvent<{
        advocacyHeight?: unknown;
        advocacySubmitted?: unknown;
        advocacyConfirmed?: unknown;
      } | null>) {
        const height = Number(data?.advocacyHeight);
        if (origin !== own || !this.frame || source !== this.frame.contentWindow || !(height > 0)) return;
        this.frame.style.height = `${Math.min(height, 10_000)}px`;
        this.dispatchOnce('advocacy:ready');
        if (!data?.advocacySubmitted) return;
        const isFirst = this.dispatchOnce('advocacy:signed', { confirmation: data.advocacySubmitted });
        if (data.advocacyConfirmed) this.dispatchOnce('advocacy:confirmed');
        const redirect = this.getAttribute('redirect');
        if (!isFirst || !redirect) return;
        const target = new URL(redirect, location.href);
        if (/^https?:$/.test(target.protocol)) location.assign(target);
      }

      /** @returns whether it was dispatched now */
      private dispatchOnce(name: string, detail: object | null = null): boolean {
        if (this.dispatched.has(name)) return false;
        this.dispatched.add(name);
        this.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
        return true;
      }

      disconnectedCallback() {
        window.removeEventListener('message', this);
        this.frame = undefined;
      }
    },
  );
}
