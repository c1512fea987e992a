"""The wording of sentences that state nothing, as patterns: English, German, Dutch, French and Spanish.

Patterns match lower and upper case, with one space between words, ' for every apostrophe, and without the final mark. SOURCE
stands for words such as "the given passages", and REST for the rest of a sentence without a "but" or a semicolon.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Language:
    """The patterns of one language.

    `declines` match a whole sentence after an optional `sorry` and `based`, and only if it has one of `negations`; `greetings`
    match a whole sentence, `offers` its beginning. `lead_ins` match a sentence that only announces what follows. `asks` are
    the first words of questions, `tells` those of questions that state something. `headings` are words that a heading without
    a statement consists of, and `links` the words between them.
    """

    source: str
    but: str
    sorry: str
    based: str
    negations: tuple[str, ...]
    declines: tuple[str, ...]
    greetings: str
    offers: str
    lead_ins: str
    asks: str
    tells: str
    headings: str
    links: str


_NOT = "(?:do not|don't|does not|doesn't|did not|didn't)"
_CANNOT = r"(?:cannot|can not|can't|could not|couldn't|(?: am|'m|was|are|were) (?:unable|not able) to|(?:wasn't|weren't) able to)"
_HOLDS = "(?:contain|provide|include|have|give|mention|specify|state|say|answer|address|discuss|indicate|cover|offer)"
_KIND = "(?:(?:specific|relevant|direct|explicit|further|sufficient|such|exact|clear) )*"
_FACT = "(?:information|mention|answers?|details?|context)"
_STATED = "(?:found|answered|determined|given|stated|mentioned|specified|provided|available|included|covered|addressed|discussed)"
_META = (
    "(?:(?:a|an|the|your|my|some|is|are|of|in|to|for|and|from|based|on|this|these|that|requested|with|all|above|below"
    "|following|concise|brief|short|quick|detailed|structured|clear|complete|final|direct|comprehensive|simple|main|key"
    "|most|important|given|provided|retrieved|step-by-step|one-sentence|bulleted|revised|summary|summaries|overview"
    "|answers?|explanation|response|breakdown|list|points?|takeaways?|highlights?|facts?|details?|information|passages?"
    "|(?:news )?articles?|texts?|documents?|contexts?|sources?|conversation|question|query|result|results|analysis|outline"
    "|version|quotes?|relevant|what i found|i found|you|asked"
    r"|what|the documents say|words?|about|bullet)\b[ ,-]*)+"
)

ENGLISH = Language(
    source=(
        "(?:(?:the|these|this|those|that|any of the|any|your|my|all) )?(?:(?:given|provided|available|retrieved|supplied"
        "|above|search|current|context) )*(?:passages?|contexts?|documents?|sources?|texts?|information|results?"
        "|articles?|excerpts?|materials?|knowledge base|data|references?|snippets?|content)(?: (?:provided|given"
        "|available|above|retrieved|supplied|i have|you provided))?"
    ),
    but="but|however|although|though|yet|instead|nevertheless|while|whereas|except|only",
    sorry=(
        r"(?:(?:i'?m|i am|we are|we're) )?(?:(?:very |so )?sorry|afraid|unfortunately|apologies"
        r"|i apologi[sz]e)[ ,:]*(?:but |that )?|as an ai(?: language)?(?: model| assistant)?,? "
    ),
    based="(?:based (?:solely |only )?on|according to|from|given|in|using) SOURCE(?: alone)?",
    negations=("not", "n't", "no ", "unable", "insufficient", "none", "neither", "n/a", "unanswerable", "unclear", "impossible"),
    declines=(
        f"i {_NOT} (?:really |actually )?know\\bREST",
        f"i {_NOT} have (?:enough|sufficient|any|the|an|access|that|this|specific)\\bREST",
        f"i (?:have|found|see|could find|can find) (?:no|nothing) ?{_KIND}(?:{_FACT}|idea|about|on|in)?\\bREST",
        "(?:i'm|i am) not (?:sure|certain)(?: (?:about|of|if|whether|how|what|who|when|where|which|based on|from)\\bREST)?",
        f"(?:i|we) ?{_CANNOT} (?:find|answer|determine|provide|tell|locate|identify|say|help|see|confirm|verify)\\bREST",
        f"SOURCE {_NOT} (?:\\w+ly )?{_HOLDS}\\bREST",
        "SOURCE (?:contains?|provides?|gives?|offers?|has|have|includes?|makes?) (?:no|insufficient) "
        f"{_KIND}(?:{_FACT}|data|references?|evidence|indication)\\bREST",
        f"(?:none|neither) of SOURCE {_HOLDS}s?\\bREST",
        "there(?:(?: is| are|'s| was) (?:no|not enough|insufficient|not sufficient|not any)|(?: isn't| aren't| wasn't) (?:any"
        f"|enough|sufficient)) {_KIND}{_FACT}(?=$|,| (?:to|about"
        "|on|in|of|for|from|that|which|whether|as|given|available|provided|regarding|concerning)\\b)REST",
        "there(?: is|'s| was) (?:nothing|no evidence|no indication) (?:in|within) SOURCE\\bREST",
        "it(?: is|'s) (?:not possible|impossible) to (?:answer|determine the answer)(?: (?:this|that|the"
        "|your) question)?(?:,? (?:in|from|by|with|using|based on|given) SOURCE)?",
        "it(?: is|'s) (?:unclear|not clear|not specified|not stated|not mentioned) (?:from|in|based on"
        "|according to) SOURCE\\bREST",
        "(?:the answer(?: to (?:this|that|the|your) question)?|it|(?:this|the|your) question|this|that|(?:this|that|the"
        f"|the requested) {_KIND}(?:information|detail|data))(?:(?: is|'s) not| isn't| (?:cannot|can not|can't|could not) be) "
        f"{_STATED}(?: (?:in|from|by|with|using|based on) SOURCE)?",
        f"(?:not enough|insufficient|no) {_KIND}(?:{_FACT}|results?)(?: (?:is |was |were |are |could be )?(?:available"
        "|provided|given|found))?(?: (?:to answer|about|regarding|concerning)\\bREST| (?:in|from|within) SOURCE)?",
        f"(?:not|cannot be|could not be) {_STATED}(?: (?:in|from|by|with|using|based on) SOURCE)?",
        "unable to (?:answer|determine|find)\\bREST",
        "no answer|unanswerable|n/a|i have no idea",
    ),
    greetings=(
        "hello|hi|hey|greetings|good (?:morning|afternoon|evening|day)|welcome|sure(?: thing)?|of course|certainly"
        "|absolutely|okay|ok|alright|got it|understood|no problem|my pleasure|you(?:'re| are) (?:very )?welcome"
        "|thank you(?: very much| so much)?|thanks|thanks? (?:you )?for (?:your|the|asking|reaching)\\b[^,;:]{0,60}"
        "|(?:that's|that is|what) an? (?:really |very )?(?:great|good|excellent|interesting"
        "|fascinating) question|(?:great|good|excellent"
        "|interesting|fascinating) question|hello there|hi there|have a (?:great|nice|good|wonderful) day|good luck"
        "|best regards|kind regards|i(?:'d| would) be (?:happy|glad) to help|happy to help|glad to help|i(?:'m"
        "| am) (?:happy|glad) to help"
    ),
    offers=(
        "(?:please )?let me know\\b(?! (?:was|is|by)\\b)|(?:please )?feel free to (?:ask|reach|let|contact"
        "|share|provide|request|follow)\\b"
        "|(?:please )?(?:do not|don't) hesitate\\b|(?:i )?hope (?:this|that|it) (?:helps|is helpful|was helpful|answers"
        "|clarifies)\\b|if (?:you|there)\\b.{0,100}\\b(?:let me know|feel free|just ask|i can|i could|i'd be|i'm happy"
        "|i am happy|happy to help|please ask|hesitate|i'll|tell me|please provide|please share|i would be)\\b"
        "|if you have (?:any )?(?:more|further|other|additional) questions|i(?:'m| am) here to help\\b|i(?:'d"
        "| would) be (?:happy|glad) to\\b|i can (?:also )?(?:help|provide more|give you more|elaborate)\\b|just (?:ask"
        "|let me know)\\b|please (?:clarify|rephrase|ask me|tell me)\\b|please (?:provide|share) (?:more|additional"
        "|further) (?:context|information|details)\\b|for (?:more|further) (?:information|details), (?:please )?(?:see"
        "|refer to|consult)\\b"
    ),
    lead_ins=(
        f"(?:here|below|following) (?:is|are) {_META}|here's {_META}|(?:here|below) (?:is|are)\\b[^:]*:|here's\\b[^:]*:"
        f"|the following (?:is|are) {_META}|(?:in (?:summary|short|conclusion|brief)|to summari[sz]e|to sum up"
        f"|to conclude|overall)[:,]?"
        "|i(?:'ll| will| can| am going to|'m going to) (?:now )?(?:summari[sz]e|explain|answer|analy[sz]e|break|look at"
        "|go through|provide)\\b(?:(?! that )[^:,])*:?|let me (?:explain|summari[sz]e|break|analy[sz]e|think|check|start|look"
        "|walk you)\\b(?:(?! that )[^:,])*:?|let's (?:break|look|analy[sz]e|think|go through|see|start|work|dive)\\b"
        "(?:(?! that )[^:,])*:?"
        "|(?:based on|according to|from) SOURCE(?:, (?:i can (?:say|tell you|answer)(?: the following)?|here(?:'s| is"
        "| are)[^:]*))?:|i (?:have|'ve) (?:reviewed|read|analy[sz]ed|checked|searched) SOURCE"
        f"|(?:note: )?(?:this|the) (?:answer|summary|response|information) is (?:based )?(?:solely |only |entirely )*on SOURCE"
        "|the (?:final )?answer(?: to your question)? is:|[^:]* (?:is|are) as follows:"
    ),
    asks=(
        "what|when|where|which|who|whom|whose|why|how|is|are|was|were|do|does|did|can|could|would|will|shall|should|may"
        "|have|has|any|anything|need|want|more|still|and you"
    ),
    tells="did you know|do you know that|who knew|how about the fact",
    headings=(
        "answer|answers|summary|overview|introduction|background|conclusion|conclusions|key|main|points?|takeaways?"
        "|facts?|causes?|effects?|symptoms?|treatments?|history|details?|sources?|references?|citations?|notes?"
        "|explanation|analysis|steps?|results?|findings?|benefits?|risks?|advantages?|disadvantages?|pros|cons|features?"
        "|examples?|definition|definitions|context|discussion|methods?|methodology|recommendations?|next|final|thoughts"
        "|further|reading|additional|information|important|considerations?|limitations?|applications?|uses|types?"
        "|factors?|reasons?|impact|significance|early|life|career|legacy|death|economy|geography|climate|culture"
        "|origins?|development|timeline|comparison|differences?|similarities|requirements?|overall|quick|short|brief"
        "|response|evidence|reasoning|question|questions|faq|frequently|asked|prevention|diagnosis|complications|side"
        "|personal|economic|social|political|historical|environmental|cultural|current|status|general|bottom|line|tldr"
        "|tl;dr|challenges?|role|purpose|warnings?|disclaimer|table|contents|appendix|part|section|chapter|supporting"
        "|other|related|topics?|passages?|documents?"
    ),
    links="a|an|the|of|and|or|in|on|for|to|with|at|by|from|&|vs|versus|during|after|before",
)

GERMAN = Language(
    source=(
        "(?:(?:der|die|das|den|dem|des|diese[nrsm]?|meine[nr]?|ihre[nr]?|allen?) )?(?:(?:bereitgestellt|vorliegend"
        "|gegeben|verfügbar|angegeben|vorhanden|genannt|obig|abgerufen"
        "|zur verfügung gestellt)e[nrsm]? )*(?:dokument(?:en?|s)?|text(?:en?|es|s)?|kontext(?:en?|es|s)?|quellen?"
        "|informationen|passagen?|abschnitt(?:en?|s)?|unterlagen|artikeln?|auszügen?|daten|textstellen?"
        "|material(?:ien)?)"
    ),
    but="aber|jedoch|allerdings|sondern|obwohl|dennoch|nur",
    sorry="(?:es )?tut mir (?:sehr )?leid[ ,:]*(?:aber )?|leider |entschuldigung[ ,:]*(?:aber )?",
    based="(?:basierend auf|auf (?:der )?grundlage|laut|gemäß|nach|aus|anhand|in) SOURCE",
    negations=("nicht", "kein"),
    declines=(
        "(?:das )?weiß ich (?:leider )?nicht|ich weiß (?:es |das |die antwort )?(?:leider )?nichtREST",
        "(?:dazu |darüber |hierzu )?(?:ich )?habe (?:ich )?(?:dazu |darüber "
        "|hierzu )?(?:leider )?keine (?:ausreichenden |genauen |genügenden )?(?:informationen|angaben|antwort)\\bREST",
        "(?:mir |dazu |darüber |hierzu |es )liegen (?:mir )?(?:dazu |darüber "
        "|hierzu )?(?:leider )?keine (?:ausreichenden )?(?:informationen|angaben|daten)\\bREST",
        "(?:diese frage |die frage |ihre frage |das |dazu )?(?:ich )?kann (?:ich )?(?:diese frage |die frage "
        "|ihre frage |das |dazu )?(?:(?:anhand|auf grundlage|aus|mit) SOURCE )?(?:leider )?(?:nicht beantworten"
        "|nicht sagen|keine antwort geben|nichts sagen|keine auskunft geben)",
        "(?:diese|die|ihre) frage (?:kann|lässt sich)(?: (?:anhand|auf grundlage|aus"
        "|mit) SOURCE)? (?:leider )?nicht beantwort(?:et werden|en)",
        "SOURCE (?:enthält|enthalten|gibt|geben|liefert|liefern|macht|machen|nennt|nennen|bietet|bieten) (?:dazu "
        "|darüber |hierzu |leider )*keine (?:informationen|angaben|antwort|hinweise|auskunft|details)\\bREST",
        "SOURCE (?:sagt|sagen|erwähnt|erwähnen|nennt|nennen|beantwortet|beantworten)\\bREST \\bnichtREST",
        "in SOURCE (?:gibt es|finden sich|sind|finde ich|steht|wird|werden) REST(?:keine (?:informationen|angaben"
        "|antwort|hinweise)|nichts|nicht (?:erwähnt|genannt|angegeben|beantwortet))\\bREST",
        "aus SOURCE geht (?:das|dies|es) (?:leider )?nicht hervor",
        "(?:dazu|darüber|hierzu) (?:finde ich|steht|findet sich) (?:leider )?(?:in SOURCE )?(?:leider )?nichts(?: in SOURCE)?",
        "(?:das|dies) (?:geht aus SOURCE nicht hervor|steht nicht in SOURCE|ist nicht bekannt aus SOURCE)",
        "es gibt (?:in SOURCE )?(?:dazu )?keine (?:ausreichenden )?(?:informationen|angaben)(?: (?:dazu|darüber"
        "|in SOURCE|zu)REST)?",
        "keine (?:angaben?|antwort|ausreichenden informationen)",
    ),
    greetings=(
        "hallo|guten (?:tag|morgen|abend)|gerne?|natürlich|selbstverständlich|klar|sicher|gute frage"
        "|das ist eine (?:sehr )?gute frage|danke|vielen dank(?: für (?:ihre|deine|die) [^,;:]{0,40})?|bitte"
        "|mit freundlichen grüßen|viel erfolg|okay|ja,? gerne?"
    ),
    offers=(
        "(?:bitte )?lassen? sie (?:es )?mich wissen|lass (?:es )?mich wissen|ich hoffe,? (?:das|dies|ich)\\b"
        "|gerne? (?:kann|helfe) ich|wenn (?:sie|du) (?:weitere|noch|mehr)\\b.{0,40}(?:fragen|informationen|hilfe|details"
        "|wissen)|bei (?:weiteren )?fragen\\b|zögern sie nicht|ich helfe (?:ihnen |dir )?gerne?|falls (?:sie"
        "|du) (?:weitere|noch|mehr)\\b.{0,40}(?:fragen|informationen|hilfe|details|wissen)"
        "|ich stehe (?:ihnen )?gerne? zur verfügung"
    ),
    lead_ins=(
        "hier (?:ist|sind|finden sie|folgt|eine?)\\b[^:]*:|hier (?:ist|sind) (?:eine?|die|der|das|ihre?) (?:kurze "
        "|knappe )?(?:zusammenfassung|antwort|übersicht|liste|erklärung)[^:,]*|im folgenden\\b[^:]*:"
        "|(?:kurz )?zusammengefasst:|zusammenfassend:|(?:basierend auf|laut|gemäß) SOURCE:|nachfolgend\\b[^:]*:"
        "|die antwort (?:ist|lautet):"
    ),
    asks=(
        "was|wann|wo|welche[rsn]?|wer|wem|wen|warum|wieso|wie|woher|wohin|möchten|möchtest|wollen|willst|soll|sollen"
        "|kann|können|könnten|darf|haben|hast|gibt|brauchen|brauchst|benötigen|ist|sind|war|noch"
    ),
    tells="wussten sie|wusstest du",
    headings=(
        "zusammenfassung|überblick|einleitung|einführung|hintergrund|fazit|ursachen?|folgen|auswirkungen?|symptome?"
        "|behandlung|geschichte|details|quellen?|hinweise?|erklärung|analyse|schritte?|ergebnis|ergebnisse|vorteile"
        "|nachteile|risiken|merkmale|beispiele?|definition|antwort|wichtige|wichtigste|punkte|fakten|kernpunkte"
        "|schlussfolgerung|bedeutung|gründe|arten|leben|werdegang|weitere|informationen|kurze|frühe|empfehlungen?"
        "|hauptpunkte|kurzfassung"
    ),
    links="und|der|die|das|des|den|dem|von|im|in|für|zu|zur|zum|mit|oder|bei|aus|auf|an",
)

DUTCH = Language(
    source=(
        "(?:(?:de|het|deze|dit|die|mijn|uw|alle) )?(?:(?:gegeven|verstrekte|beschikbare|aangeleverde|meegeleverde"
        "|bovenstaande|opgehaalde) )*(?:documenten|document|teksten|tekst|context|bronnen|bron|informatie|passages?"
        "|fragmenten|artikelen|artikel|gegevens)"
    ),
    but="maar|echter|hoewel|toch|alleen|slechts",
    sorry="(?:het )?spijt me[ ,:]*(?:maar )?|helaas,? |sorry[ ,:]*(?:maar )?",
    based="(?:op basis van|volgens|uit|in) SOURCE",
    negations=("niet", "geen", "onvoldoende"),
    declines=(
        "(?:dat )?weet ik (?:helaas )?niet|ik weet (?:het|dat|het antwoord) (?:helaas )?nietREST",
        "(?:ik )?heb (?:ik )?(?:hierover |daarover |helaas )*(?:geen|niet genoeg|onvoldoende) (?:informatie|gegevens"
        "|antwoord)\\bREST",
        "ik heb (?:deze|die|hierover geen) informatie (?:niet )?gevondenREST",
        "(?:ik )?kan (?:ik )?(?:(?:deze|die|uw|je|de) vraag |dit |dat "
        "|hier )?(?:helaas )?(?:op basis van SOURCE )?(?:niet|geen)\\bREST(?:beantwoorden|zeggen|vinden|bepalen"
        "|geven)REST",
        "SOURCE (?:bevat|bevatten|geeft|geven|vermeldt|vermelden|noemt|noemen|zegt|zeggen|bieden|biedt) (?:hierover "
        "|daarover |hier )?(?:geen|niet|niets)\\bREST",
        "SOURCE (?:vermeldt|vermelden|noemt|noemen|geeft|geven|zegt|zeggen)\\bREST niet",
        "er (?:is|zijn|staat) (?:hierover |daarover )?(?:geen|onvoldoende|niet genoeg|niets) ?(?:informatie|gegevens"
        "|antwoord)?\\bREST",
        "(?:deze|de|uw) vraag kan (?:niet|op basis van SOURCE niet) (?:worden beantwoord|beantwoord worden)REST",
        "(?:dit|dat|deze informatie) (?:staat|is) niet (?:vermeld |beschikbaar )?(?:in SOURCE)?|geen (?:antwoord"
        "|informatie)(?: beschikbaar)?",
    ),
    greetings=(
        "hallo|hoi|goedemorgen|goedemiddag|goedenavond|natuurlijk|zeker|uiteraard|graag|oké|dank (?:je"
        "|u)(?: wel)?(?: voor [^,;:]{0,40})?|bedankt|(?:dat is een )?goede vraag|graag gedaan|met vriendelijke groet"
    ),
    offers=(
        "laat (?:het )?(?:me|mij) (?:gerust )?weten|aarzel niet|ik hoop dat (?:dit|dat|het)\\b|als (?:je|u) (?:nog "
        "|meer |verdere |andere )+.{0,40}(?:vragen|weten|informatie|hulp)\\b.{0,60}|mocht (?:je|u)\\b.{0,80}(?:vragen"
        "|weten|hulp)\\b.{0,40}|ik help (?:je|u) graag"
    ),
    lead_ins=(
        "hier (?:is|zijn|volgt|vind)\\b[^:]*:|hier (?:is|volgt) (?:een|de|het) (?:korte )?(?:samenvatting|antwoord"
        "|overzicht|lijst|uitleg)[^:,]*|hieronder\\b[^:]*:|(?:kort )?samengevat:|samenvattend:|(?:volgens"
        "|op basis van) SOURCE:|het antwoord is:"
    ),
    asks=("wat|wanneer|waar|welke?|wie|waarom|hoe|hoeveel|wilt|wil|zal|kan|kunt|mag|heeft|heb|is|zijn|was|moet|zou"),
    tells="wist (?:je|u)",
    headings=(
        "samenvatting|overzicht|inleiding|achtergrond|conclusie|oorzaken|oorzaak|gevolgen|effecten|symptomen|behandeling"
        "|geschiedenis|details|bronnen|bron|opmerkingen|uitleg|analyse|stappen|resultaten|voordelen|nadelen|risico's"
        "|kenmerken|voorbeelden|definitie|antwoord|belangrijkste|punten|feiten|informatie|betekenis|redenen|soorten"
        "|leven"
    ),
    links="en|van|de|het|een|in|voor|met|op|of|bij|uit|aan",
)

FRENCH = Language(
    source=(
        "(?:(?:le|la|les|l'|ces|ce|cet|cette|vos|mes|des|du|de la) ?)?(?:documents?|textes?|contextes?|sources?"
        "|informations?|passages?|extraits?|articles?|données|contenu)(?: (?:fourni|disponible|donné|récupéré|présenté"
        "|ci-dessus)e?s?| que j'ai)*"
    ),
    but="mais|cependant|toutefois|néanmoins|pourtant|bien que|seulement",
    sorry="(?:je suis )?(?:désolée?|navrée?)[ ,:]*(?:mais )?|malheureusement,? |je regrette,? (?:mais )?",
    based="(?:selon|d'après|sur la base (?:des|du|de)|dans|à partir (?:des|du|de)) ?SOURCE",
    negations=("pas", "aucun", "rien"),
    declines=(
        "je (?:ne |n')(?:le )?sais pasREST",
        "je n'ai (?:pas|aucune) ?(?:suffisamment |assez )?(?:d'|de |l'|la |les )?(?:informations?|réponse|idée|éléments"
        "|données)\\bREST",
        "je (?:ne |n')?(?:peux|suis)(?: malheureusement)? pas (?:en mesure de |capable de |y )?(?:répondre|trouver"
        "|déterminer|fournir|dire)\\bREST",
        "je ne trouve (?:pas|aucune)\\bREST",
        "je n'ai (?:pas )?trouvé (?:aucune |d'|cette |l'|la |de )?(?:information|réponse)s?\\bREST",
        "SOURCE (?:ne |n')(?:contien(?:t|nent)|mentionne(?:nt)?|précise(?:nt)?|indique(?:nt)?|fournit|fournissent"
        "|donne(?:nt)?|dit|disent|comporte(?:nt)?|permet(?:tent)?|répond(?:ent)?) (?:pas|aucune?|rien)\\bREST",
        "il n'y a (?:pas|aucune) (?:d'|assez d'|suffisamment d')?(?:informations?|réponse|mention)\\bREST",
        "(?:cette|l') ?information n'(?:est|apparaît) pas (?:disponible|mentionnée|fournie|précisée|présente"
        "|indiquée)?(?: dans SOURCE)?",
        "il (?:est impossible|n'est pas possible) de répondre(?: à (?:cette|la|votre) question)?(?: (?:avec|à partir de"
        "|d'après) ?SOURCE)?",
        "aucune (?:information|réponse)(?: (?:disponible|trouvée))?(?: (?:dans|sur) SOURCE)?|pas de réponse",
    ),
    greetings=(
        "bonjour|bonsoir|salut|bien sûr|certainement|avec plaisir|d'accord|merci(?: (?:beaucoup|pour [^,;:]{0,40}))?"
        "|(?:c'est une )?(?:très )?(?:bonne|excellente) question|je vous en prie|cordialement|bonne journée|absolument"
        "|oui,? bien sûr"
    ),
    offers=(
        "n'hésitez pas\\b|n'hésite pas\\b|(?:j'espère|en espérant) que (?:cela|ça|ceci)\\b|faites-moi savoir"
        "|dites-moi si|si vous (?:avez|souhaitez|voulez|désirez) (?:d'autres |plus |davantage |des "
        "|en ).{0,40}(?:questions|précisions|détails|informations|savoir)|je (?:suis|reste) (?:à votre disposition"
        "|là pour)|je peux (?:aussi |également )?(?:vous aider|fournir plus)"
    ),
    lead_ins=(
        "voici\\b[^:]*:|voici (?:un|le|une|la) (?:bref |court )?(?:résumé|réponse|liste|synthèse|explication)[^:,]*"
        "|en (?:résumé|bref|conclusion) ?:|pour résumer ?:|(?:selon|d'après) SOURCE ?:|ci-dessous\\b[^:]*:"
        "|la réponse est ?:"
    ),
    asks=(
        "que|qu'est-ce|qu'|quels?|quelles?|quand|où|qui|pourquoi|comment|combien|voulez-vous|souhaitez-vous|avez-vous"
        "|est-ce|puis-je|pouvez-vous|pourriez-vous|y a-t-il|dois-je|veux-tu|as-tu|désirez-vous"
    ),
    tells="saviez-vous|savais-tu|le saviez",
    headings=(
        "résumé|aperçu|introduction|contexte|conclusion|causes?|conséquences?|effets?|symptômes?|traitements?|histoire"
        "|détails|sources?|références?|notes?|remarques?|explication|analyse|étapes?|résultats?|avantages|inconvénients"
        "|risques|caractéristiques|exemples?|définition|réponse|points?|clés?|principaux|principales|faits|informations?"
        "|importance|raisons|types|vie|carrière|synthèse|historique|économique|politique|sociale?"
    ),
    links="et|de|du|des|la|le|les|à|au|aux|en|pour|dans|d'|l'|ou|sur|par",
)

SPANISH = Language(
    source=(
        "(?:(?:el|la|los|las|estos|estas|este|esta|mis|sus) )?(?:documentos?|textos?|contextos?|fuentes?|información"
        "|pasajes?|extractos?|artículos?|datos|fragmentos?|contenido|material)(?: (?:proporcionad|disponible|dad"
        "|recuperad|facilitad|suministrad)[oae]?s?)*"
    ),
    but="pero|sin embargo|aunque|no obstante|sino|solo|sólo",
    sorry=("lo (?:siento|lamento)(?: mucho)?[ ,:]*(?:pero )?|lamentablemente,? |desafortunadamente,? |disculpe[ ,:]*(?:pero )?"),
    based="(?:según|de acuerdo con|con base en|basándome en|en|a partir de|con) SOURCE",
    negations=("no ", "sin ", "insuficiente"),
    declines=(
        "no (?:lo )?(?:sé|se)(?: la respuestaREST)?",
        "no (?:tengo|dispongo de|cuento con|hay|existe) (?:suficiente |la |ninguna |bastante )?(?:información|respuesta"
        "|datos|mención)\\bREST",
        "no (?:puedo|es posible|he podido|pude|soy capaz de|se puede) (?:responder|contestar|encontrar|determinar"
        "|proporcionar|decir|ayudar)\\bREST",
        "no (?:encuentro|encontré|he encontrado|se encontró|se ha encontrado) (?:ninguna |esa |esta |la )?(?:información"
        "|respuesta|mención)\\bREST",
        "SOURCE no (?:contienen?|mencionan?|incluyen?|proporcionan?|especifican?|indican?|dicen?|ofrecen?|responden?"
        "|dan?)\\bREST",
        "(?:esta|esa|la) información no (?:está|se encuentra|aparece|figura) (?:disponible|incluida|mencionada)?(?: ?en SOURCE)?",
        "en SOURCE no (?:se (?:menciona|indica|especifica|encuentra|dice)|hay|aparece)\\bREST",
        "sin (?:respuesta|información)|información insuficiente|no se (?:menciona|especifica|indica) en SOURCE",
    ),
    greetings=(
        "hola|buenos días|buenas (?:tardes|noches)|claro(?: que sí)?|por supuesto|desde luego|con gusto|de acuerdo"
        "|(?:muchas )?gracias(?: por [^,;:]{0,40})?|(?:es una )?(?:muy )?(?:buena|excelente|gran) pregunta|de nada"
        "|saludos|entendido|sí,? claro"
    ),
    offers=(
        "(?:por favor,? )?no dudes? en|(?:por favor,? )?(?:hazme|hágame|házmelo|hágamelo) saber|espero que (?:esto|esta"
        "|te|le)\\b|si (?:tienes?|necesitas?|deseas?|quieres?) (?:más|alguna|otra|otras|saber)\\b.{0,60}"
        "|estoy aquí para ayudar|avísame|dime si|puedo (?:también )?(?:ayudarte|ayudarle|darte más)"
    ),
    lead_ins=(
        "(?:aquí|a continuación|abajo)\\b[^:]*:|aquí (?:está|tiene|tienes|hay) (?:un|una|el|la) (?:breve )?(?:resumen"
        "|respuesta|lista|explicación)[^:,]*|en (?:resumen|conclusión|síntesis):|para resumir:|(?:según"
        "|de acuerdo con) SOURCE:|la respuesta es:"
    ),
    asks=(
        "qué|cuál|cuáles|cuándo|dónde|quién|quiénes|por qué|cómo|cuánto|cuántos|cuántas|quieres?|te gustaría|le gustaría"
        "|necesitas?|deseas?|puedo|puedes?|podrías?|hay|tienes?|desea|es|son|fue|en qué|a qué|de qué"
    ),
    tells="sabías que|sabía (?:usted )?que",
    headings=(
        "resumen|introducción|contexto|conclusión|conclusiones|causas?|consecuencias|efectos?|síntomas?|tratamientos?"
        "|historia|detalles|fuentes?|referencias|notas?|explicación|análisis|pasos?|resultados?|ventajas|desventajas"
        "|riesgos|características|ejemplos?|definición|respuesta|puntos|clave|principales|datos|información|importancia"
        "|razones|tipos|vida|antecedentes|visión|general"
    ),
    links="y|de|del|la|el|los|las|en|para|con|a|al|o|por|e",
)
