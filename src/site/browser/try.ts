/** The pages of operations in the documentation: fills in the key and the ids of your organization, and sends the call. */
{
  const STORED = 'advocacy-docs-key';
  /** Without storage, the key and the ids are only known to this page. */
  const kept = new Map<string, string>();
  const keep = (name: string, value: string) => {
    kept.set(name, value);
    try {
      sessionStorage.setItem(name, value);
    } catch {
      // The browser refuses it.
    }
  };
  const read = (name: string): string | undefined => {
    try {
      return sessionStorage.getItem(name) ?? undefined;
    } catch {
      return kept.get(name);
    }
  };
  // `npm start` prints a link with the key. The fragment is never sent, and leaves the address at once.
  const [, given] = /^#(adv_\w+)$/.exec(location.hash) ?? [];
  if (given !== undefined) {
    keep(STORED, given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  const section = document.querySelector<HTMLElement>('.try');
  if (section) {
    const { name, method, type, sources, creators } = section.dataset as Record<string, string>;
    const [form, status] = [section.querySelector('form')!, section.querySelector('[role=status]')!];
    const key = form.querySelector<HTMLInputElement>('#key')!;
    const fields = form.querySelector<HTMLTextAreaElement>('#fields')!;
    const file = form.querySelector<HTMLInputElement | HTMLTextAreaElement>('#file');
    const examples = [...document.querySelectorAll('pre code')];
    const [example, templates] = [fields.value, examples.map(({ textContent }) => textContent)];
    /** The example with the ids that were found. */
    let shown = example;
    const lists = JSON.parse(sources!) as Record<string, string>;
    const creating = JSON.parse(creators!) as Record<string, string>;
    /** Records that are listed by another one. */
    const OF: Record<string, string> = { signatureId: 'petitionId', noteId: 'contactId' };
    /** Every page about notes is about the oldest contact, so that each finds what another one created. */
    const oldest = (field: string) =>
      name!.startsWith('note.') && field === 'contactId' ? '?sort=createdAt&limit=1' : '';
    const authorization = () => ({ Authorization: `Bearer ${key.value.trim()}` });
    /** Waits for the limit per second, which a page may use up itself while it looks for records. */
    const call = async (address: string, options: RequestInit): Promise<[Response, number]> => {
      for (let attempt = 1; ; attempt++) {
        const started = performance.now();
        const response = await fetch(address, options);
        const seconds = Number(response.headers.get('Retry-After'));
        if (response.status !== 429 || seconds > 2 || attempt === 5) return [response, started];
        await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      }
    };

    /** What ends or deletes a record gets the last one, because the first ones are those of the demo. Its last email is a draft. */
    const isLast = /\.(delete|revoke|rotate|remove|cancel|withdraw)-|^broadcast\.(update|send)-/.test(name!);
    const idOf = async (field: string): Promise<string | undefined> => {
      const list = lists[field];
      // No operation lists updates: this is the last one from these pages.
      if (list === undefined) return read(field);
      const comment = name!.endsWith('-comment') ? '&commentState=WAITING' : '';
      const of = OF[field];
      const query = of ? `?${of}=${await idOf(of)}${field === 'signatureId' ? comment : ''}` : oldest(field);
      const [response] = await call(`/v1/${list}${query}`, { headers: authorization() });
      if (!response.ok) throw new Error(await response.text());
      const { data } = (await response.json()) as { data: Record<string, string> | Record<string, string>[] };
      const all = Array.isArray(data) ? data : [data];
      // Revoking the key of this page would end every further try.
      const isOwnKey = ({ prefix }: Record<string, string>) =>
        isLast && key.value.trim().startsWith(prefix ?? ' ');
      // The last owner cannot be removed.
      const isOwner = ({ role }: Record<string, string>) => field === 'memberId' && role === 'OWNER';
      const records = all.filter((one) => !isOwnKey(one) && !isOwner(one));
      const record = field === 'otherId' ? records.at(-2) : records.at(isLast ? 0 : -1);
      return record?.id ?? record?.[field];
    };

    const fill = async () => {
      const values: Record<string, string> = { url: location.origin, key: key.value.trim() };
      const missing: string[] = [];
      const wanted = new Set(
        [...`${example}${templates.join('')}`.matchAll(/\{\{(\w+)\}\}/g)].map(([, one]) => one!),
      );
      for (const field of wanted) {
        const value = values[field] ?? (await idOf(field));
        if (value === undefined) missing.push(field);
        else values[field] = value;
      }
      const filled = (text: string) =>
        text.replaceAll(/\{\{(\w+)\}\}/g, (all, field: string) => values[field] ?? all);
      // After another key, the ids are those of another organization.
      if (fields.value === shown) fields.value = shown = filled(example);
      examples.forEach((one, n) => (one.textContent = filled(templates[n] ?? '')));
      return missing;
    };
    const report = (title: string, text: string) => {
      const [heading, body] = [document.createElement('h3'), document.createElement('pre')];
      heading.textContent = title;
      body.textContent = text;
      // A region that scrolls is reached with the keyboard.
      body.tabIndex = 0;
      status.replaceChildren(heading, body);
    };

    let filling: Promise<string[]> | undefined;
    const start = () => {
      keep(STORED, key.value.trim());
      filling = fill();
      filling.catch((error: unknown) => report('The ids could not be read', String(error)));
    };
    const send = async () => {
      const missing = (await filling) ?? [];
      if (/\{\{\w+\}\}/.test(fields.value)) {
        report(
          'An id is missing',
          `Your organization has no record for: ${missing.join(', ')}. Create one, or enter an id.`,
        );
        for (const creator of missing.flatMap((field) => creating[field] ?? [])) {
          const link = document.createElement('a');
          link.href = `/docs/${creator}`;
          link.textContent = creator;
          status.append(link, ' ');
        }
        return;
      }
      const input = JSON.parse(fields.value || '{}') as Record<string, unknown>;
      const isBody = type === 'application/json';
      const query = isBody ? '' : new URLSearchParams(input as Record<string, string>).toString();
      const body = isBody ? JSON.stringify(input) : file && (await contentOf(file));
      const [response, started] = await call(`/v1/${name}${query && `?${query}`}`, {
        method: method!,
        headers: { ...authorization(), ...(type && { 'Content-Type': type }) },
        ...(body && { body }),
      });
      const text = await response.text();
      const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
      const { updateId } =
        (isJson ? (JSON.parse(text) as { data?: { updateId?: string } }).data : undefined) ?? {};
      if (updateId !== undefined) keep('updateId', updateId);
      const readable = isJson ? JSON.stringify(JSON.parse(text), null, 2) : text.slice(0, 20_000);
      report(`${response.status} in ${Math.round(performance.now() - started)} ms`, readable);
      section.dataset.status = String(response.status);
    };

    section.hidden = false;
    key.value = read(STORED) ?? '';
    if (key.value) start();
    key.addEventListener('change', start);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      status.textContent = 'Sending …';
      send().catch((error: unknown) => report('The request failed', String(error)));
    });
  }

  async function contentOf(file: HTMLInputElement | HTMLTextAreaElement): Promise<Blob | string> {
    if (file instanceof HTMLTextAreaElement) return file.value;
    const [chosen] = file.files ?? [];
    if (chosen) return chosen;
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [64, 64];
    canvas.getContext('2d')!.fillRect(0, 0, 64, 64);
    const type = file.closest<HTMLElement>('.try')!.dataset.type!;
    return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob!), type));
  }
}
