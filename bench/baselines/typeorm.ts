/** Nest with TypeORM over HTTP: signs and reads with repositories. Its tables are in the schema "baseline" of DATABASE_URL. */
import 'reflect-metadata';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Module,
  NotFoundException,
  Post,
  Query,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IsOptional, IsString, IsUUID } from 'class-validator';
import { type AddressInfo, type Server } from 'node:net';
import {
  Column,
  CreateDateColumn,
  DataSource,
  Entity,
  Index,
  LessThan,
  PrimaryColumn,
  UpdateDateColumn,
} from 'typeorm';
import { v7 as uuidv7 } from 'uuid';

@Entity('contacts')
@Index(['organizationId', 'id'])
class Contact {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('uuid')
  organizationId!: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updatedAt!: Date;

  @Column('text')
  email!: string;

  @Column('text', { nullable: true })
  firstName!: string | null;

  @Column('text', { nullable: true })
  lastName!: string | null;

  @Column('text', { nullable: true })
  bio!: string | null;

  @Column('text', { nullable: true })
  phone!: string | null;

  @Column('text', { nullable: true })
  mobile!: string | null;

  @Column('text', { nullable: true })
  address!: string | null;

  @Column('text', { nullable: true })
  zip!: string | null;

  @Column('text', { nullable: true })
  city!: string | null;

  @Column('text', { nullable: true })
  country!: string | null;

  @Column('boolean', { default: true })
  subscribed!: boolean;
}

@Entity('petitions')
class Petition {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('uuid')
  organizationId!: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @UpdateDateColumn({ type: 'timestamptz' })
  updatedAt!: Date;

  @Column('text')
  name!: string;

  @Column('text')
  title!: string;

  @Column('text', { nullable: true })
  description!: string | null;

  @Column('jsonb', { nullable: true })
  content!: unknown;

  @Column('text')
  status!: string;

  @Column('integer', { default: 0 })
  signatures!: number;
}

@Entity('signatures')
@Index(['petitionId', 'contactId'], { unique: true })
@Index(['petitionId', 'id'])
class Signature {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('uuid')
  petitionId!: string;

  @Column('uuid')
  contactId!: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column('text', { nullable: true })
  comment!: string | null;
}

class AddSignature {
  @IsUUID()
  petitionId!: string;

  @IsUUID()
  contactId!: string;

  @IsOptional()
  @IsString()
  comment?: string;
}

class OneRecord {
  @IsUUID()
  id!: string;
}

class PageOfContacts {
  @IsUUID()
  organizationId!: string;

  @IsOptional()
  @IsUUID()
  before?: string;
}

class PageOfSignatures {
  @IsUUID()
  petitionId!: string;

  @IsOptional()
  @IsUUID()
  before?: string;
}

const PAGE = 25;

@Controller('v1')
class PetitionController {
  constructor(private readonly source: DataSource) {}

  /** Updates the counter last, because all signers wait for its row lock. */
  @Post('add-signature')
  @HttpCode(200)
  async addSignature(@Body() { petitionId, contactId, comment }: AddSignature) {
    const signatureId = uuidv7();
    await this.source.transaction(async (manager) => {
      await manager.insert(Signature, { id: signatureId, petitionId, contactId, comment: comment ?? null });
      await manager.increment(Petition, { id: petitionId }, 'signatures', 1);
    });
    return { data: { signatureId, petitionId, contactId }, object: 'signature' };
  }

  @Get('get-contact')
  async getContact(@Query() { id }: OneRecord) {
    return { data: found(await this.source.getRepository(Contact).findOneBy({ id })), object: 'contact' };
  }

  @Get('get-petition')
  async getPetition(@Query() { id }: OneRecord) {
    return { data: found(await this.source.getRepository(Petition).findOneBy({ id })), object: 'petition' };
  }

  @Get('list-contacts')
  async listContacts(@Query() { organizationId, before }: PageOfContacts) {
    const where = { organizationId, ...(before ? { id: LessThan(before) } : {}) };
    const data = await this.source.getRepository(Contact).find({ where, order: { id: 'DESC' }, take: PAGE });
    return { data, object: 'contacts', next: data.at(-1)?.id };
  }

  @Get('list-signatures')
  async listSignatures(@Query() { petitionId, before }: PageOfSignatures) {
    const where = { petitionId, ...(before ? { id: LessThan(before) } : {}) };
    const data = await this.source
      .getRepository(Signature)
      .find({ where, order: { id: 'DESC' }, take: PAGE });
    return { data, object: 'signatures', next: data.at(-1)?.id };
  }
}

function found<T>(record: T | null): T {
  if (record === null) throw new NotFoundException();
  return record;
}

async function connect(): Promise<DataSource> {
  const source = new DataSource({
    type: 'postgres',
    url: process.env.DATABASE_URL!,
    schema: 'baseline',
    entities: [Contact, Petition, Signature],
    poolSize: 10,
    installExtensions: false,
  });
  await source.initialize();
  await source.query('CREATE SCHEMA IF NOT EXISTS baseline');
  await source.synchronize();
  return source;
}

@Module({ controllers: [PetitionController], providers: [{ provide: DataSource, useFactory: connect }] })
class TypeormModule {}

const app = await NestFactory.create(TypeormModule, { logger: false });
app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
await app.listen(0, '127.0.0.1');
const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
console.log(JSON.stringify({ message: 'listening', port }));
