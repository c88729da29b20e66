# Files that programs bring along, as constants. Used as a script by the build:
#   cmake -DIN=page.css -DOUT=page_css.cpp -DHEADER=exchange/html/assets.h -DNAME=reef::exchange::html::kPageCss -P embed.cmake
file(READ ${IN} text)
string(FIND "${text}" ")reef_embed\"" ends)
if(NOT ends EQUAL -1)
  message(FATAL_ERROR "${IN} holds the mark that would end the constant")
endif()
file(WRITE ${OUT} "#include \"${HEADER}\"\n\nconst std::string_view ${NAME} = R\"reef_embed(")
file(APPEND ${OUT} "${text}")
file(APPEND ${OUT} ")reef_embed\";\n")
