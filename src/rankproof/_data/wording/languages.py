"""The wording of sentences that state nothing, in ten more languages."""

from __future__ import annotations

from rankproof._data.wording.western import DUTCH, ENGLISH, FRENCH, GERMAN, SPANISH, Language

ITALIAN = Language(
    source=(
        "(?:(?:il|lo|la|i|gli|le|l'|questi|queste|questo|nei|nelle|nel|nella|dai|dalle|dal|dalla|sui"
        "|sulle) ?)?(?:documenti|documento|testi|testo|contesto|contesti|fonti|fonte|informazioni|passaggi|passaggio"
        "|brani|brano|estratti|articoli|articolo|dati|contenuti|contenuto)(?: (?:fornit|disponibil|dat|recuperat"
        "|a disposizion)[oaie])*"
    ),
    but="ma|però|tuttavia|sebbene|anche se|bensì|solo",
    sorry="(?:mi )?(?:dispiace|spiace)[ ,:]*(?:ma )?|purtroppo,? |sono spiacente[ ,:]*(?:ma )?",
    based="(?:in base (?:a|ai|alle|al)|secondo|sulla base (?:di|dei|delle)|in|dai|dalle) ?SOURCE",
    negations=("non ", "nessun", "insufficienti"),
    declines=(
        "non (?:lo )?so(?: la rispostaREST)?",
        "non (?:ho|dispongo di|ci sono|c'è|possiedo) (?:abbastanza |sufficienti |alcuna |nessuna |le )?(?:informazioni"
        "|informazione|risposta|dati)\\bREST",
        "non (?:posso|riesco a|è possibile|sono in grado di|si può) (?:rispondere|trovare|determinare|fornire|dire"
        "|aiutare)\\bREST",
        "non (?:ho trovato|trovo) (?:alcuna |nessuna |questa |la )?(?:informazioni|informazione|risposta|menzione)\\bREST",
        "SOURCE non (?:contengono|contiene|menzionano|menziona|forniscono|fornisce|indicano|indica|specificano|specifica"
        "|dicono|dice|includono|include|riportano|riporta)\\bREST",
        "(?:questa|l') ?informazione non è (?:disponibile|presente|indicata|menzionata|fornita|riportata)(?: ?SOURCE)?",
        "nessuna (?:risposta|informazione)(?: disponibile)?(?: ?SOURCE)?|informazioni insufficienti",
    ),
    greetings=(
        "ciao|salve|buongiorno|buonasera|certo|certamente|volentieri|va bene|grazie(?: (?:mille|per [^,;:]{0,40}))?"
        "|(?:è una )?(?:ottima|bella|buona) domanda|prego|cordiali saluti|assolutamente|sì,? certo"
    ),
    offers=(
        "non esitare\\b|non esiti\\b|fammi sapere|mi faccia sapere|spero che (?:questo|questa|ti|le)\\b|se (?:hai|ha"
        "|desideri|vuoi|desidera|vuole) (?:altre|bisogno|ulteriori|maggiori|sapere)\\b.{0,60}|sono qui per aiutar"
        "|posso (?:anche )?aiutar"
    ),
    lead_ins=(
        "ecco\\b[^:]*:|ecco (?:un|una|il|la) (?:breve )?(?:riassunto|risposta|elenco|sintesi|spiegazione)[^:,]*"
        "|di seguito\\b[^:]*:|in (?:sintesi|breve|conclusione):|per riassumere:|(?:secondo|in base (?:a|ai"
        "|alle)) ?SOURCE:|la risposta è:"
    ),
    asks=(
        "che|cosa|che cosa|quale|quali|quando|dove|chi|perché|come|quanto|quanti|quante|vuoi|vuole|vorresti|vorrebbe"
        "|desideri|desidera|posso|puoi|può|potresti|potrebbe|hai|ha|c'è|ci sono|ti serve|serve|è"
    ),
    tells="lo sapevi|sapevi che|sapeva che|lo sapeva",
    headings=(
        "riassunto|sintesi|panoramica|introduzione|contesto|conclusione|conclusioni|cause|causa|conseguenze|effetti"
        "|sintomi|trattamento|storia|dettagli|fonti|fonte|riferimenti|note|nota|spiegazione|analisi|passaggi|risultati"
        "|vantaggi|svantaggi|rischi|caratteristiche|esempi|esempio|definizione|risposta|punti|chiave|principali"
        "|informazioni|importanza|motivi|tipi|vita"
    ),
    links="e|di|del|della|dei|delle|la|il|i|le|gli|in|per|con|a|al|o|da|l'|d'",
)

PORTUGUESE = Language(
    source=(
        "(?:(?:o|a|os|as|estes|estas|este|esta|nos|nas|no|na) )?(?:documentos?|textos?|contextos?|fontes?|informações"
        "|informação|passagens|trechos?|artigos?|dados|conteúdo)(?: (?:fornecid|disponíve|dad|recuperad"
        "|apresentad)(?:[oa]s?|is|l))*"
    ),
    but="mas|porém|no entanto|embora|contudo|todavia|apenas|só",
    sorry="(?:sinto muito|desculpe|lamento)[ ,:]*(?:mas )?|infelizmente,? ",
    based="(?:com base (?:em|nos|nas|no|na)|de acordo com|segundo|em|a partir d[eoa]s?) ?SOURCE",
    negations=("não", "sem ", "nenhum", "insuficient"),
    declines=(
        "(?:eu )?não sei(?: a respostaREST)?",
        "(?:eu )?não (?:tenho|disponho de|há|existem?) (?:nenhuma )?(?:informações|informação|resposta|dados)\\bREST",
        "(?:eu )?não (?:posso|consigo|é possível|foi possível|sou capaz de) (?:responder|encontrar|determinar|fornecer"
        "|dizer|ajudar)\\bREST",
        "(?:eu )?não (?:encontrei|encontro|foi encontrada|foram encontradas) (?:nenhuma |essa |esta |a )?(?:informações"
        "|informação|resposta|menção)\\bREST",
        "SOURCE não (?:contêm|contém|mencionam?|incluem|inclui|fornecem?|especificam?|indicam?|dizem|diz|informam?"
        "|respondem?)\\bREST",
        "(?:esta|essa|a) informação não (?:está|foi|consta) ?(?:disponível|mencionada|incluída|fornecida)?(?: ?SOURCE)?",
        "sem (?:resposta|informação)|informações insuficientes|nenhuma (?:resposta|informação)(?: disponível| encontrada)?",
    ),
    greetings=(
        "olá|oi|bom dia|boa (?:tarde|noite)|claro|com certeza|certamente|com prazer|obrigad[oa](?: por [^,;:]{0,40})?"
        "|(?:é uma )?(?:ótima|boa|excelente) pergunta|de nada|atenciosamente|sim,? claro|entendido"
    ),
    offers=(
        "(?:por favor,? )?não hesite|(?:me )?avise(?:-me)?\\b|espero que (?:isso|isto|esta|ajude)\\b"
        "|se (?:você )?(?:tiver|precisar|quiser|desejar) (?:mais|outra|outras|alguma|de mais|saber)\\b.{0,60}"
        "|estou aqui para ajudar|diga-me se|fique à vontade|posso (?:também )?ajud"
    ),
    lead_ins=(
        "aqui (?:está|estão|vai)\\b[^:]*:|aqui (?:está|vai) (?:um|uma|o|a) (?:breve )?(?:resumo|resposta|lista"
        "|explicação)[^:,]*|a seguir\\b[^:]*:|abaixo\\b[^:]*:|em (?:resumo|conclusão|síntese):|para resumir:|(?:segundo"
        "|de acordo com) SOURCE:|a resposta é:|segue\\b[^:]*:"
    ),
    asks=(
        "o que|que|qual|quais|quando|onde|quem|por que|como|quanto|quantos|quantas|você (?:quer|gostaria|precisa|deseja)"
        "|gostaria|quer|precisa|deseja|posso|pode|poderia|há|tem|é|são|foi"
    ),
    tells="você sabia|sabia que",
    headings=(
        "resumo|visão|geral|introdução|contexto|conclusão|causas?|consequências|efeitos?|sintomas?|tratamento|história"
        "|detalhes|fontes?|referências|notas?|explicação|análise|passos|etapas|resultados?|vantagens|desvantagens|riscos"
        "|características|exemplos?|definição|resposta|pontos|principais|chave|informações|importância|razões|tipos|vida"
    ),
    links="e|de|do|da|dos|das|o|a|os|as|em|para|com|no|na|ou|por",
)

POLISH = Language(
    source=(
        "(?:(?:te|tych|ten|tym|tego|moich|moje) )?(?:(?:podan|dostarczon|dostępn|przedstawion|udostępnion|powyższ"
        "|załączon)(?:ych|e|ego|ym|y|a|ej) )*(?:dokumenty|dokumentach|dokumentów|dokument|dokumencie|teksty|tekstach"
        "|tekstów|tekst|tekście|tekstu|kontekst|kontekście|kontekstu|źródła|źródłach|źródeł|informacje|informacji"
        "|fragmenty|fragmentach|fragmentów|artykuły|artykule|materiały|materiałach|dane|danych)"
    ),
    but="ale|jednak|lecz|natomiast|chociaż|choć|jedynie|tylko",
    sorry="(?:bardzo )?(?:mi )?przykro[ ,:]*(?:mi[ ,]*)?(?:ale )?|niestety,? |przepraszam[ ,:]*(?:ale )?",
    based="(?:na podstawie|według|zgodnie z|w|z) SOURCE",
    negations=("nie", "brak"),
    declines=(
        "nie wiemREST",
        "nie (?:mam|posiadam|ma|znalazłem|znalazłam|znaleziono|znajduję) (?:wystarczających |żadnych "
        "|tam |tej |takiej )?(?:informacji|danych|odpowiedzi|wzmianki)\\bREST",
        "nie (?:mogę|jestem w stanie|można|da się|potrafię) (?:odpowiedzieć|udzielić|znaleźć|określić|ustalić|stwierdzić"
        "|pomóc)\\bREST",
        "SOURCE nie (?:zawierają|zawiera|wspominają|wspomina|podają|podaje|określają|określa|mówią|mówi|wymieniają"
        "|wymienia)\\bREST",
        "(?:w SOURCE |tam )?(?:brak|brakuje|nie ma) (?:wystarczających )?(?:informacji|danych"
        "|odpowiedzi)(?: (?:na ten temat|o|w|na|do|aby)\\bREST)?",
        "(?:ta informacja|to) nie (?:jest|zostało|została) (?:dostępna|podane|podana|wspomniane|wspomniana)?(?: ?w SOURCE)?",
        "brak (?:odpowiedzi|informacji)",
    ),
    greetings=(
        "cześć|dzień dobry|dobry wieczór|witam|oczywiście|jasne|pewnie|chętnie|dobrze|dziękuję(?: za [^,;:]{0,40})?"
        "|(?:to )?(?:bardzo )?dobre pytanie|świetne pytanie|proszę bardzo|nie ma za co|pozdrawiam"
    ),
    offers=(
        "(?:proszę )?daj(?:cie)? (?:mi )?znać|proszę dać (?:mi )?znać|mam nadzieję,? że (?:to|ta)\\b|(?:jeśli|jeżeli"
        "|gdyby) (?:masz|mają państwo|potrzebujesz|chcesz|chcieliby)\\b.{0,40}(?:pytania|pytań|informacji|wiedzieć"
        "|pomocy|szczegółów)\\b.{0,60}|nie wahaj się|chętnie pomogę|w razie (?:dalszych |dodatkowych )?pytań"
    ),
    lead_ins=(
        "(?:oto|poniżej|tutaj)\\b[^:]*:|oto (?:krótkie )?(?:podsumowanie|streszczenie|odpowiedź|lista|wyjaśnienie)[^:,]*"
        "|(?:podsumowując|w skrócie|w podsumowaniu):|(?:na podstawie|według|zgodnie z) SOURCE:|odpowiedź (?:to|brzmi):"
    ),
    asks="co|kiedy|gdzie|który|która|które|kto|dlaczego|jak|jaki|jaka|jakie|ile|czy|czego|w czym",
    tells="czy wiesz,? że|czy wiedziałeś|czy wiedziałaś",
    headings=(
        "podsumowanie|streszczenie|przegląd|wprowadzenie|wstęp|tło|wnioski|wniosek|przyczyny|skutki|objawy|leczenie"
        "|historia|szczegóły|źródła|źródło|uwagi|uwaga|wyjaśnienie|analiza|kroki|wyniki|zalety|wady|ryzyko|cechy"
        "|przykłady|definicja|odpowiedź|najważniejsze|kluczowe|główne|punkty|fakty|informacje|znaczenie|powody|rodzaje"
        "|życie"
    ),
    links="i|z|w|o|na|do|dla|oraz|lub|od|po",
)

RUSSIAN = Language(
    source=(
        "(?:(?:эти|этих|этом|этот|данные|моих) )?(?:(?:предоставленн|данн|доступн|имеющ|приведенн|приведённ"
        "|указанн)(?:ых|ые|ом|ого|ый|ая|ой|ую|ихся|ейся|емся) )*(?:документы|документах|документов|документ|документе"
        "|текст|тексте|тексты|текстах|текста|контекст|контексте|контекста|источники|источниках|источников|источнике"
        "|информация|информации|отрывки|отрывках|отрывке|материалы|материалах|материалов|статье|статьях|данные|данных"
        "|фрагменты|фрагментах)"
    ),
    but="но|однако|хотя|зато|а также|только",
    sorry="(?:к сожалению|увы),? |(?:извините|простите|прошу прощения)[ ,:]*(?:но )?",
    based="(?:на основе|на основании|согласно|исходя из|судя по|по|в|из) SOURCE",
    negations=("не", "нет", "отсутств"),
    declines=(
        "(?:я )?(?:этого )?не знаюREST",
        "(?:у меня )?(?:нет|недостаточно|не хватает) (?:достаточной )?(?:информации|данных|ответа|сведений)(?:,? (?:об?"
        "|о том|для|чтобы|по|на|в)\\bREST)?",
        "(?:я )?(?:не могу|не удалось|невозможно|не удаётся|не удается|не смог|не в состоянии) (?:ответить|найти"
        "|определить|дать ответ|сказать|предоставить|установить|помочь)\\bREST",
        "(?:я )?не (?:нашёл|нашел|нашла|нахожу) (?:информации|ответа|сведений|упоминания)\\bREST",
        "SOURCE не (?:содержат|содержит|упоминают|упоминает|указывают|указывает|дают|даёт|дает|говорят|говорит|включают"
        "|сообщают)\\bREST",
        "в SOURCE (?:об этом |про это )?(?:нет|отсутствует|отсутствуют|не (?:указано|упоминается|упоминаются|сказано|содержится"
        "|говорится|приводится|найдено))\\bREST",
        "(?:это|эта информация|информация об этом|ответ) (?:не (?:указано|указана|упоминается|найден)|отсутствует)(?: в SOURCE)?",
        "(?:этой|такой) информации (?:в SOURCE )?нет(?: в SOURCE)?",
        "нет (?:ответа|информации|данных)|информация отсутствует|ответ не найден",
    ),
    greetings=(
        "здравствуйте|привет|добрый (?:день|вечер)|доброе утро|конечно|разумеется|хорошо|с удовольствием"
        "|спасибо(?: за [^,;:]{0,40})?|(?:это )?(?:отличный|хороший|интересный) вопрос|пожалуйста|с уважением"
        "|рад(?:а)? помочь"
    ),
    offers=(
        "(?:пожалуйста,? )?дайте (?:мне )?знать|надеюсь,? (?:это|эта|что)\\b|если (?:у вас|вам|вы|у тебя"
        "|тебе)\\b.{0,60}(?:вопросы|вопрос|информаци|нужн|хотите|подробнее|помощь).{0,80}|не стесняйтесь|обращайтесь"
        "|буду рад(?:а)? помочь|я могу (?:также )?помочь"
    ),
    lead_ins=(
        "(?:вот|ниже|далее)\\b[^:]*:|вот (?:краткое |краткий )?(?:резюме|ответ|список|обзор|изложение)[^:,]*|(?:в итоге"
        "|итак|подводя итог|коротко|вкратце|в заключение):|(?:согласно|на основе|на основании) SOURCE:|ответ:"
    ),
    asks=(
        "что|когда|где|какой|какая|какие|какое|кто|почему|как|сколько|зачем|хотите|нужно|могу|можете|есть ли|вам|нужна"
        "|желаете|чем"
    ),
    tells="знаете ли вы|знали ли вы|а вы знали|знаете, что",
    headings=(
        "резюме|обзор|введение|контекст|вывод|выводы|заключение|причины|причина|последствия|симптомы|лечение|история"
        "|подробности|источники|источник|примечания|примечание|объяснение|анализ|шаги|результаты|преимущества|недостатки"
        "|риски|особенности|примеры|определение|ответ|основные|ключевые|главные|моменты|факты|информация|значение|итог"
        "|итоги|виды|жизнь|краткое|содержание"
    ),
    links="и|в|на|о|об|для|с|к|по|из|или|от",
)

_NO_INFORMATION = "(?:相关|足够|任何|具体|有关|明确|充分|这方面)*的?(?:信息|資訊|资料|答案|内容|內容|说明|記載|数据|记载|线索)"

CHINESE = Language(
    source=(
        "(?:(?:您|你|我|目前|现有|所)?(?:所)?(?:提供|给出|给定|检索到|已有|现有|上述|以上|这些|该|提供給)的?)*(?:资料"
        "|文档|文件|文本|文章|上下文|信息|段落|内容|材料|来源|文献|片段|资讯|背景|文)(?:中|里|内|来看)?"
    ),
    but="但|但是|不过|然而|只",
    sorry="(?:很|非常|十分)?(?:抱歉|对不起|遗憾|不好意思)[，,：: ]*(?:但是?)?",
    based="(?:根据|依据|基于|从|按照|在)SOURCE",
    negations=("不", "没", "沒", "无", "無", "未", "缺"),
    declines=(
        "我?(?:也)?(?:不知道|不清楚|不确定)REST",
        f"我?(?:没有|沒有|缺乏|缺少|找不到|未找到|没有找到|未能找到|无法找到)(?:关于|有关)?REST{_NO_INFORMATION}REST",
        "我?(?:无法|不能|無法|难以)(?:从REST)?(?:回答|确定|得知|判断|提供|给出|得出|找到|作答)REST",
        "SOURCE(?:都|均|并|也)?(?:没有|未|沒有|不|并未|并没有)(?:明确|直接|具体)?(?:提及|提到|说明|包含|涉及|给出|指出"
        "|提供|回答|记载|包括)REST",
        f"SOURCE(?:不足以|无法|不能)(?:回答|确定|支持|得出)REST|SOURCE(?:中|里)?(?:没有|缺乏|缺少)REST{_NO_INFORMATION}REST",
        "(?:该|这个|此|您的|你的)问题(?:目前)?(?:无法|不能)(?:根据SOURCE)?(?:回答|得到回答)REST",
        "(?:没有|无|暂无)(?:答案|相关信息|信息|回答)|信息不足|无法回答|资料不足",
    ),
    greetings=(
        "你好|您好|当然(?:可以)?|好的|没问题|可以|谢谢(?:您|你)?的?(?:提问|问题)?|感谢您?的?(?:提问|问题)?"
        "|(?:这是一个)?(?:很)?好(?:的)?问题|不客气|早上好"
    ),
    offers=(
        "希望(?:这|以上|我的|对)|(?:如果|如|若)(?:您|你)?(?:还)?(?:有|需要|想)(?:其他|任何|更多|进一步|了解更多|別的"
        "|什么)?.{0,25}(?:请|欢迎|随时|告诉我|问我|我可以|我会)|(?:请|欢迎)(?:随时)?(?:告诉我|问我|联系|提问|提供更多)"
        "|我(?:很)?(?:乐意|可以)(?:为您|帮您|继续)"
    ),
    lead_ins=(
        "以下(?:是|为|列出)?[^：:。，]*[：:]?|下面(?:是|为)[^：:。]*[：:]?|(?:总结|概括|简而言之|综上所述|总之|答案"
        "|总结如下|回答)(?:如下|来说)?[：:]|根据SOURCE[，,]?(?:可以得出以下[^：:]*|以下是[^：:]*|回答如下"
        "|总结如下)?[：:]|这是[^：:。]*(?:摘要|总结|概述)[：:]?"
    ),
    asks=".*(?:吗|呢|什么|哪|谁|为何|为什么|如何|怎么|怎样|多少|是否|几)",
    tells=".*(?:知道吗|对吗|不是吗|是吧|难道)|你知道|您知道|你可知",
    headings=(
        "摘要|总结|概述|概览|简介|引言|背景|结论|原因|影响|后果|症状|治疗|历史|详情|来源|参考资料|参考文献|注意|备注"
        "|说明|解释|分析|步骤|结果|优点|缺点|风险|特点|示例|例子|定义|答案|回答|要点|关键点|主要内容|主要观点|意义|类型"
        "|生平|关键信息|主要原因"
    ),
    links="和|与|及|的",
)

JAPANESE = Language(
    source=(
        "(?:(?:提供された|与えられた|ご提供いただいた|いただいた|検索された|上記の|この|これらの|現在の|参照した"
        "|手元の)+)?(?:情報|資料|文書|文章|テキスト|コンテキスト|文脈|ドキュメント|記事|内容|ソース|出典|データ"
        "|パッセージ)"
    ),
    but="しかし|ですが|ただし|けれど|のみ",
    sorry=("(?:大変)?(?:申し訳(?:ありません|ございません)|すみません|ごめんなさい|残念ながら|恐れ入ります)(?:が|けど)?[、。, ]*"),
    based="SOURCE(?:から|に基づ(?:くと|いて)|によると|によれば|だけ|の中|内|に)*(?:で)?は?",
    negations=("ません", "ない", "不", "なし", "かね"),
    declines=(
        "(?:私には|答えは|それは)?(?:わかりません|分かりません|存じません|不明です|わからないです)",
        "REST(?:お答え|回答|返答|判断|特定|確認|お伝え|お応え)(?:することが|することは|が|は)?(?:でき(?:ません|ない"
        "|かねます)|いたしかねます)REST",
        "REST(?:情報|記載|記述|言及|回答|答え|説明|内容|データ)(?:が|は|について)?(?:REST)?(?:ありません"
        "|見つかりません(?:でした)?|含まれて(?:い|お)(?:ません|りません)|見当たりません(?:でした)?|不足しています"
        "|ございません|されていません)",
        "SOURCE(?:に|では|には|は)REST(?:言及|記載|説明|触れ|記述|明記)(?:さ)?(?:られ|れ)?て?(?:いません|おりません|いない)",
        "(?:回答|答え)(?:なし|不可)|情報(?:なし|不足)",
    ),
    greetings=(
        "こんにちは|はじめまして|もちろん(?:です)?|承知(?:いた)?しました|かしこまりました|了解(?:です|しました)"
        "|ありがとうございます|(?:とても)?(?:良い|いい|素晴らしい)(?:ご)?質問ですね?|どういたしまして|おはようございます"
    ),
    offers=(
        ".*(?:お気軽に|遠慮なく|ご遠慮なく|お申し付けください|お知らせください|お聞かせください|お尋ねください"
        "|お問い合わせください|ご質問ください)|.*(?:お役に立て|参考になれ|助けになれ)(?:ば|たら|れば)|(?:他に|ほかに"
        "|さらに).*(?:ご質問|ご不明|必要)"
    ),
    lead_ins=(
        "(?:以下|下記)(?:は|に|が|の通り|のとおり)[^：:。]*(?:です|ます)?[：:]?|(?:要約|まとめ|結論|回答|答え|要約すると"
        "|まとめると|簡潔に言うと)(?:は次の通りです|です)?[：:]|SOURCE(?:に基づくと|によると"
        "|によれば)[、,]?(?:以下の(?:通り|とおり)です)?[：:]|次の(?:通り|とおり)です[：:]?"
    ),
    asks=".*か",
    tells=".*(?:ではないでしょうか|ではありませんか|じゃないですか|ご存[知じ](?:です|でした)か|知っていますか)",
    headings=(
        "要約|概要|まとめ|はじめに|背景|結論|原因|影響|結果|症状|治療|歴史|詳細|出典|参考文献|参考資料|注意|備考|補足"
        "|説明|解説|分析|手順|利点|欠点|メリット|デメリット|リスク|特徴|例|定義|回答|答え|ポイント|要点|主なポイント"
        "|重要なポイント|意義|種類|経歴|主な原因"
    ),
    links="と|の|および",
)

KOREAN = Language(
    source=(
        "(?:(?:제공된|주어진|제시된|검색된|위의|해당|이|현재) ?)*(?:문서|자료|텍스트|문맥|맥락|정보|지문|내용|본문|출처"
        "|기사|컨텍스트)(?:들)?"
    ),
    but="하지만|그러나|그렇지만|다만",
    sorry="(?:죄송합니다|죄송하지만|미안합니다|유감스럽게도|안타깝게도|아쉽게도)(?:만)?[,. ]*",
    based="SOURCE(?:에서|에|에는|에서는|만으로|만으로는|에 따르면|을 바탕으로|를 바탕으로|로는|으로는)?",
    negations=("없", "모르", "모릅", "않", "부족", "불가"),
    declines=(
        "(?:저는 |답을 )?(?:잘 )?(?:모르겠습니다|모릅니다|알 수 없습니다)|REST(?:알 수|답변할 수|답할 수|확인할 수"
        "|찾을 수|판단할 수|말씀드릴 수) 없(?:습니다|어요)",
        "REST(?:정보|내용|언급|답변|답|자료|설명)(?:이|가|은|는)? ?(?:없습니다|부족합니다|포함되어 있지 않습니다"
        "|나와 있지 않습니다|충분하지 않습니다)",
        "SOURCE(?:에|에는|에서는|은|는)? ?REST(?:언급|설명|포함|명시|기재)(?:하지|되지|되어 있지|하고 있지) ?(?:않습니다"
        "|않았습니다|않고 있습니다)",
        "답변 (?:없음|불가)|정보 (?:없음|부족)",
    ),
    greetings=("안녕하세요|물론입니다|물론이죠|네,? 물론입니다|알겠습니다|감사합니다|좋은 질문입니다|좋은 질문이네요|천만에요"),
    offers=(
        "도움이 되(?:었|셨|기)|.*(?:언제든지|편하게|주저하지).{0,30}(?:말씀|질문|문의|물어|알려)|(?:추가|더"
        "|다른).{0,30}(?:질문|필요|궁금).{0,40}(?:말씀|알려|문의)"
    ),
    lead_ins=(
        "(?:다음은|아래는|아래에)[^:：.]*(?:입니다)?[:：]?|(?:요약|정리|결론|답변)(?:하면|하자면"
        "|은 다음과 같습니다)?[:：]|SOURCE(?:에 따르면|를 바탕으로)[,]?[:：]"
    ),
    asks=".*(?:까요|나요|니까|을까|인가요|가요|어때요|은가)",
    tells=".*(?:알고 계셨나요|아셨나요|아시나요|않습니까|않나요|아닌가요)",
    headings=(
        "요약|개요|소개|서론|배경|결론|원인|영향|결과|증상|치료|역사|세부 사항|출처|참고|참고 자료|참고 문헌|주의|비고"
        "|설명|분석|단계|장점|단점|위험|특징|예시|예|정의|답변|답|요점|핵심|주요|내용|의미|종류"
    ),
    links="및|와|과|의",
)

_ARABIC_FACTS = "(?:معلومات|إجابة|بيانات|ذكر|تفاصيل|جواب)"

ARABIC = Language(
    source=(
        "(?:(?:هذه|هذا|تلك|جميع|أي من) )?(?:ال|لل|بال|وال)?(?:مستندات|مستند|وثائق|وثيقة|نصوص|نص|سياق|مقاطع|مقطع|مصادر|مصدر"
        "|معلومات|فقرات|مقالات|مقال|بيانات|مواد|ملفات)(?: (?:ال)?(?:مقدمة?|متاحة?|متوفرة?|معطاة?|مسترجعة?|مذكورة?|مرفقة?"
        "|واردة?|أعلاه|لدي))*"
    ),
    but="لكن|ولكن|لكنها|لكنه|غير أن|إلا أن|ومع ذلك|بينما|فقط",
    sorry=("(?:أنا )?(?:عذر[اًٌ]+|معذرة|آسفة?|أعتذر|للأسف|مع الأسف|يؤسفني)(?: الشديد)?[ ,،.:]*(?:و?لكن(?:ني)? )?"),
    based="(?:بناء[ًا]* على|استناد[اً]+ إلى|وفق[اً]+|حسب|بحسب|من|في|من خلال) ?SOURCE",
    negations=("لا ", "لم ", "ليس", "لست", "غير", "تعذر", "نقص"),
    declines=(
        "(?:أنا )?لا (?:أعرف|أعلم|أدري)REST",
        f"ليست? (?:لدي|عندي|هناك) (?:أي |ما يكفي من )?{_ARABIC_FACTS}\\bREST",
        f"لا (?:ت|ي)(?:وجد|توفر|توافر) (?:لدي )?(?:أي )?{_ARABIC_FACTS}\\bREST|لا أ(?:ملك|متلك) (?:أي )?{_ARABIC_FACTS}\\bREST",
        "(?:أنا )?(?:لا (?:أستطيع|يمكنني|يمكن|أقدر على)|لم (?:أتمكن من|أستطع)|لست قادر[اًة]* على|[تي]*تعذر علي?) (?:الإجابة|الرد"
        "|تقديم|تحديد|العثور|إيجاد|معرفة|تأكيد|أن أجيب|أن أحدد)\\bREST",
        "لم أ(?:جد|عثر على) (?:أي )?(?:معلومات|إجابة|ذكر)\\bREST",
        "(?:لا|لم) [تي](?:ذكر|حتوي|تضمن|حدد|شير|وفر|قدم|وضح|تناول|جيب) SOURCE\\bREST",
        "SOURCE (?:لا|لم) [تي](?:ذكر|حتوي|تضمن|حدد|شير|وفر|قدم|وضح|تناول|جيب)\\bREST",
        "(?:لا|لم) [تي](?:رد|ذكر|حدد|ظهر)\\bREST في SOURCE",
        "(?:هذه )?(?:المعلومات|المعلومة|الإجابة) (?:غير (?:متوفرة|متاحة|موجودة|مذكورة|كافية|معروفة)|ليست موجودة)(?: في SOURCE)?",
        "غير (?:معروف|مذكور|محدد|معلوم)(?: في SOURCE)?|لا (?:إجابة|جواب|معلومات)|معلومات غير كافية",
    ),
    greetings=(
        "مرحب[اًـ]+|أهل[اً]+(?: وسهل[اً]+)?|السلام عليكم|بالتأكيد|بالطبع|طبع[اً]+|حسن[اً]+|شكر[اً]+(?: لك| جزيل[اً]+)?"
        "(?: على [^,،;:]{0,40})?|(?:هذا )?سؤال (?:جيد|رائع|ممتاز)(?: جد[اً]+)?|على الرحب والسعة|عفو[اً]+|صباح الخير|مساء الخير"
    ),
    offers=(
        "(?:أرجو|آمل|أتمنى) أن (?:يكون|تكون|يفيد|يساعد)\\b|(?:إذا|إن) (?:كان|كانت|كنت|احتجت|أردت)\\b.{0,80}(?:أسئلة|سؤال"
        "|مساعدة|معلومات|المزيد|تفاصيل|استفسار).{0,80}|لا تتردد\\b|يسعدني (?:أن أساعد|مساعدت)|يمكنني (?:أيض[اً]+ )?مساعدتك"
    ),
    lead_ins=(
        "(?:إليك|إليكم|فيما يلي|أدناه)\\b[^:]*:|(?:إليك|فيما يلي) (?:ملخص|الإجابة|قائمة|نظرة)[^:،]*"
        "|(?:باختصار|خلاصة القول|في الختام|الإجابة) ?:|(?:بناء[ًا]* على|وفق[اً]+) ?SOURCE:"
    ),
    asks="ما|ماذا|متى|أين|من|لماذا|كيف|كم|هل|أي|أيهما",
    tells="هل (?:كنت )?تعلم",
    headings=(
        "ملخص|خلاصة|مقدمة|خلفية|خاتمة|الملخص|الخلاصة|المقدمة|الخاتمة|أسباب|الأسباب|نتائج|النتائج|أعراض|الأعراض|العلاج|التاريخ"
        "|التفاصيل|المصادر|المراجع|ملاحظة|ملاحظات|الشرح|التحليل|الخطوات|المزايا|العيوب|المخاطر|أمثلة|التعريف|الإجابة|النقاط"
        "|الرئيسية|المعلومات|الأنواع"
    ),
    links="و|في|من|عن|إلى|على",
)

_HINDI_FACTS = "(?:जानकारी|उल्लेख|विवरण|उत्तर|जवाब)"
_HINDI_NOT = "नहीं(?: (?:हैं?|मिला|मिली|मिलता|मिलती|किया गया|दिया गया|दी गई))*"

HINDI = Language(
    source=(
        "(?:(?:दिए गए|दी गई|दिये गये|उपलब्ध|प्रदान किए गए|प्रदान की गई|इन|इस|उपरोक्त|मेरे पास|प्राप्त) )*(?:दस्तावे(?:ज़|ज़|ज)"
        "|पाठ|संदर्भ|स्रोत|जानकारी|अंश|लेख|सामग्री|डेटा|अनुच्छेद)(?:ों)?"
    ),
    but="लेकिन|परंतु|परन्तु|किंतु|हालाँकि|हालांकि|केवल|सिर्फ",
    sorry=("(?:मुझे )?(?:क्षमा (?:करें|कीजिए)|मा(?:फ़|फ़|फ) (?:करें|कीजिए)|खेद है|अ(?:फ़|फ़|फ)सोस है|दुर्भाग्य से)[ ,।:]*(?:कि )?"),
    based="SOURCE (?:के आधार पर|के अनुसार|से|में)",
    negations=("नहीं", "अपर्याप्त", "असमर्थ"),
    declines=(
        "(?:मुझे )?(?:(?:यह|इसका उत्तर|इस बारे में|इसके बारे में) )*(?:नहीं (?:पता|मालूम)|(?:पता|मालूम|ज्ञात) नहीं)(?: है)?(?: कि REST)?",
        "मैं REST(?:नहीं जानता|नहीं जानती)(?: हूँ)?(?: कि REST)?",
        "(?:मैं )?REST(?:उत्तर|जवाब) (?:नहीं (?:दे सकता|दे सकती|दिया जा सकता)|देने में असमर्थ)(?: हूँ| हूं| है)?",
        f"REST(?:SOURCE में|देने के लिए|इसके लिए|बारे में|मेरे पास) REST{_HINDI_FACTS} REST{_HINDI_NOT}",
        f"(?:पर्याप्त |कोई ){_HINDI_FACTS} (?:उपलब्ध )?{_HINDI_NOT}|अपर्याप्त जानकारी",
    ),
    greetings=(
        "नमस्ते|नमस्कार|(?:ज़|ज़|ज)रूर|बि(?:ल्कु|लकु)ल|ठीक है|धन्यवाद|(?:यह )?(?:एक )?(?:बहुत )?अच्छा (?:प्रश्न|सवाल)(?: है)?|आपका स्वागत है"
    ),
    offers=(
        "(?:कृपया )?मुझे (?:बताएँ|बताएं|बताइए)|(?:मुझे )?(?:आशा|उम्मीद) है कि (?:यह|इससे)|(?:अगर|यदि) (?:आपको|आपके|आप)"
        ".{0,80}(?:जानकारी|प्रश्न|सवाल|मदद|सहायता).{0,80}"
    ),
    lead_ins=("(?:यहाँ|यहां|नीचे|निम्नलिखित)[^:।]*:|(?:संक्षेप में|सारांश|उत्तर|निष्कर्ष) ?:|SOURCE के (?:आधार पर|अनुसार):"),
    asks=".*(?:क्या|कब|कहाँ|कहां|कौन|क्यों|कैसे|कितन|किस|चाहेंगे|चाहते)",
    tells="क्या (?:आप जानते|आपको पता)",
    headings=(
        "सारांश|परिचय|निष्कर्ष|पृष्ठभूमि|कारण|प्रभाव|परिणाम|लक्षण|उपचार|इतिहास|विवरण|स्रोत|संदर्भ|टिप्पणी|व्याख्या|विश्लेषण|चरण"
        "|लाभ|हानि|जोखिम|विशेषताएँ|उदाहरण|परिभाषा|उत्तर|मुख्य|बिंदु|तथ्य|जानकारी|महत्व|प्रकार|अवलोकन"
    ),
    links="और|का|की|के|में|से",
)

_TURKISH_FACTS = "(?:bilgi|cevap|cevab|yanıt|ayrıntı|veri|detay)\\w*"
_TURKISH_NOT = (
    "(?:yok(?:tur)?|mevcut değil(?:dir)?|bulun(?:muyor|mamaktadır|madı|amadı)|yer al(?:mıyor|mamaktadır)"
    "|(?:veril|belirtil|bahsedil|geç)(?:miyor|memiş(?:tir)?|memektedir))"
)

TURKISH = Language(
    source=(
        "(?:(?:bu|verilen|sağlanan|sunulan|mevcut|elimdeki|yukarıdaki|ilgili) )*(?:belge|metin|metn|bağlam|kaynak|kaynağ|doküman"
        "|pasaj|makale|parça|içerik|içeriğ|veri|alıntı)(?:ler|lar)?(?:in|ın|[iıeadt][aen]?|den|dan|ten|tan|y[ea])?"
    ),
    but="ama|fakat|ancak|lakin|yalnızca|sadece",
    sorry="(?:maalesef|ne yazık ki|üzgünüm|özür dilerim|kusura bakmayın)[ ,:]*(?:ama |fakat |ancak )?",
    based="SOURCE (?:göre|dayanarak|bakılırsa)",
    negations=("yok", "iyor", "ıyor", "uyor", "değil", "emem", "amam", "adım", "edim", "makta", "mekte", "memiş", "madı"),
    declines=(
        "(?:bunu |bu konuda |yanıtı |cevabı )*(?:bilmiyorum|(?:bir )?(?:bilgim|fikrim) yok(?:tur)?|emin değilim)",
        "REST(?:cevaplay|yanıtlay|(?:cevap|yanıt) ver|belirley|bul|söyley|sağlay)(?:amı|emi|ama|eme)(?:yorum|m|dım|dim)",
        f"RESTSOURCE REST{_TURKISH_FACTS} REST{_TURKISH_NOT}",
        f"REST{_TURKISH_FACTS} RESTSOURCE REST{_TURKISH_NOT}",
        "SOURCE,? REST(?:bahset|içer|belirt|değin|söyle|açıkla|(?:cevap|yanıt|bilgi) ver)(?:miyor|memektedir|mez)",
        "SOURCE REST(?:belirtil|bahsedil|değinil)(?:miyor|memiş(?:tir)?|memektedir)",
        "SOURCE REST(?:açıkla|anlat)(?:mıyor|nmamış(?:tır)?|ılmamış(?:tır)?|nmamaktadır)",
        f"(?:(?:yeterli|herhangi bir|hiçbir|bununla ilgili|bu konuda) )+{_TURKISH_FACTS} {_TURKISH_NOT}|yetersiz bilgi",
    ),
    greetings=(
        "merhaba(?:lar)?|selam|tabii(?: ki)?|elbette|tamam|teşekkür(?:ler| ederim)"
        "|(?:bu )?(?:çok )?(?:güzel|iyi|harika) (?:bir )?soru|rica ederim|iyi günler|memnuniyetle"
    ),
    offers=(
        "umarım\\b|başka (?:bir )?soru\\w* (?:varsa|olursa)\\b|daha fazla (?:bilgi|yardım)\\w* .{0,40}(?:isterse|gerek|ihtiyac)"
        "|lütfen (?:bana )?(?:sor|bildir|söyle)"
    ),
    lead_ins="(?:işte|aşağıda(?:ki)?)\\b[^:]*:|(?:özetle|özet olarak|kısaca|sonuç olarak|cevap|yanıt) ?:|SOURCE göre:",
    asks="ne|neden|niçin|nasıl|nerede|kim|hangi|kaç|hangisi|.*(?:ister|ediyor) mi",
    tells="biliyor mu(?:ydunuz|sunuz|ydun|sun)",
    headings=(
        "özet|giriş|sonuç|sonuçlar|neden|nedenler|nedenleri|belirtiler|belirtileri|tedavi|tarihçe|kaynaklar|not|notlar|açıklama"
        "|analiz|adımlar|avantajlar|dezavantajlar|riskler|örnekler|tanım|cevap|yanıt|ayrıntılar|türleri|önemi"
    ),
    links="ve|ile|için",
)

LATIN = (ENGLISH, GERMAN, DUTCH, FRENCH, SPANISH, ITALIAN, PORTUGUESE, POLISH, TURKISH)
LANGUAGES = (*LATIN, RUSSIAN, CHINESE, JAPANESE, KOREAN, ARABIC, HINDI)
