import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type RecordReader } from '#libs/commands';
import { type Decider, type DomainEvent, type Past } from '#libs/event-store';
import { type Resource, type ResourceRecord, Resources } from '#libs/resources';
import { PublicAddress } from '../config/index.js';
import { images } from './images.js';

/** A kind of records that show an image. */
export type ShowsImages = {
  /** The API's name of one. */
  object: string;
  decider: Decider<object, DomainEvent>;
  exists: (state: object) => boolean;
  /** Those that show this one. */
  find: (
    readers: { resources: Resources; records: RecordReader },
    organizationId: string,
    imageId: string,
    most: number,
  ) => Promise<{ id: string; name: string }[]>;
  /** What takes it out of one of them. */
  takeOut: (state: object) => DomainEvent[];
};
const kinds: ShowsImages[] = [];
/** Those whose answers tell of it. */
const filled: Resource[] = [];

/** The column of such a kind that holds the image's id; its field is `imageId`. */
export const IMAGE_COLUMN = 'image_id';

/**
 * Lets records of a kind show an image: `imageId`, which must be one of the organization, fills `image`. To be called where the
 * kind is declared; it has the column `IMAGE_COLUMN`, indexed.
 *
 * @param takeOut decides that a record shows none any more.
 */
export function showImages<State extends object, Event extends DomainEvent>(
  resource: Resource<State, Event>,
  takeOut: (state: State) => Event[],
): void {
  filled.push(resource);
  kinds.push({
    object: resource.object,
    decider: resource.decider,
    exists: (state) => resource.exists(state as State),
    find: ({ resources }, organizationId, imageId, most) =>
      resources.having(resource, organizationId, IMAGE_COLUMN, imageId, most),
    takeOut: takeOut as unknown as ShowsImages['takeOut'],
  });
}

/** As `showImages`, for what is no `Resource`, and fills nothing. */
export function showImagesBy(kind: ShowsImages): void {
  kinds.push(kind);
}

export function thoseThatShowImages(): readonly ShowsImages[] {
  return kinds;
}

/** Completes answers: images by their whole addresses, what shows them by what the images are. */
@Injectable()
export class ShownImages implements OnModuleInit {
  constructor(
    private readonly resources: Resources,
    private readonly address: PublicAddress,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(images, (_organizationId, records) => {
      for (const image of records) Object.assign(image, this.addressed(image));
    });
    for (const resource of filled)
      this.resources.completeBy(resource, (organizationId, records, past) =>
        this.show(organizationId, records, past),
      );
  }

  private async show(organizationId: string, records: readonly ResourceRecord[], past?: Past): Promise<void> {
    const ids = new Set(records.flatMap(({ imageId }) => (typeof imageId === 'string' ? [imageId] : [])));
    const found = new Map(
      await Promise.all(
        [...ids].map(
          async (id) => [id, await this.resources.findAt(images, organizationId, id, past)] as const,
        ),
      ),
    );
    for (const record of records) {
      const image = found.get(record.imageId as string);
      if (!image) continue;
      const { name, alt, type } = image;
      record.image = { name, url: this.addressed(image).url, alt, type };
    }
  }

  private addressed({ url, variants }: ResourceRecord): { url: string; variants: object[] } {
    const whole = (path: unknown) => this.address.url + (path as string);
    return {
      url: whole(url),
      variants: (variants as { url: string }[]).map((variant) => ({ ...variant, url: whole(variant.url) })),
    };
  }
}
